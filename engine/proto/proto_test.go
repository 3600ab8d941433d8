package proto

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAppendString(t *testing.T) {
	for _, text := range []string{"", "plain", "\"\\\n\t\r\x00\x1f\x7f", "é\u2028\U0001F600", "</script>"} {
		var back string
		if err := json.Unmarshal(AppendString(nil, text), &back); err != nil || back != text {
			t.Errorf("%q became %q (%v)", text, back, err)
		}
	}
	if got := string(AppendString(nil, "a\xffb")); got != "\"a\uFFFDb\"" {
		t.Error(got)
	}
}

func TestReadRequestRefuses(t *testing.T) {
	root, _ := json.Marshal(t.TempDir())
	good := `{"version":3,"root":` + string(root) + `,"dialect":"buck","cells":[{"name":"root","path":"","build_files":["BUCK"]}]}`
	if _, err := ReadRequest(strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		`"version":3`:    `"version":1`,
		`"buck"`:         `"make"`,
		`"path":""`:      `"path":"../x"`,
		`"name":"root"`:  `"nmae":"root"`,
		`"root":"/`:      `"root":"`,
		`["BUCK"]`:       `["a/BUCK"]`,
		`"dialect"`:      `"packages":["/abs"],"dialect"`,
		`"dialect":`:     `"overlay":{"./a":""},"dialect":`,
		`"cells"`:        `"aliases":{"a":"b"},"cells"`,
		`}]}`:            `}]} {}`,
		`"version":3,`:   `"version":3,"do":["guess"],`,
		`"version":3,"r`: `"version":3,"jobs":-1,"r`,
	} {
		if _, err := ReadRequest(strings.NewReader(strings.Replace(good, from, to, 1))); err == nil {
			t.Errorf("%s is accepted", to)
		}
	}
}
