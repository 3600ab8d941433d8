package kept

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
)

const second = 1_000_000_000

var (
	old   = Stamp{Size: 3, Modified: 5*second + 1, Changed: 5*second + 2, Inode: 7}
	sum   = sha256.Sum256([]byte("old"))
	other = sha256.Sum256([]byte("new"))
)

func saved(t *testing.T, now int64) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "deep", "store")
	s := Open(file, "key")
	s.Put("a.py", old, sum, []byte("record of a\n"))
	s.Put("b.py", Stamp{Size: 1}, other, []byte("record of b\n"))
	s.Save(now)
	return file
}

func TestSameStampGivesTheRecord(t *testing.T) {
	s := Open(saved(t, 9*second), "key")
	if got := string(s.ByStamp("a.py", old)); got != "record of a\n" {
		t.Errorf("got %q", got)
	}
	for _, stamp := range []Stamp{
		{3, old.Modified + 1, old.Changed, 7}, {4, old.Modified, old.Changed, 7}, {3, old.Modified, old.Changed + 1, 7}, {3, old.Modified, old.Changed, 8},
	} {
		if s.ByStamp("a.py", stamp) != nil {
			t.Errorf("%v counts as the same file", stamp)
		}
	}
	if s.ByStamp("b.py", Stamp{Size: 1}) != nil {
		t.Error("a stamp without a time of change was relied on")
	}
}

func TestYoungStampIsNotReliedOn(t *testing.T) {
	s := Open(saved(t, old.Changed+tick), "key")
	if s.ByStamp("a.py", old) != nil {
		t.Error("a file that changed just before the run counts as the same")
	}
	if s.ByContent("a.py", old, sum) == nil {
		t.Error("the same bytes give no record")
	}
	coarseStamp := Stamp{Modified: 5 * second, Changed: 5 * second}
	if settled(coarseStamp, 7*second) || !settled(coarseStamp, 8*second) {
		t.Error("whole seconds are not waited for")
	}
}

func TestContentDecidesWhereTheStampDoesNot(t *testing.T) {
	file := saved(t, 9*second)
	s := Open(file, "key")
	touched := Stamp{3, 6 * second, 6*second + 1, 7}
	if s.ByContent("a.py", touched, other) != nil {
		t.Error("other bytes give the old record")
	}
	if s.ByContent("c.py", touched, sum) != nil {
		t.Error("the bytes of another path give its record")
	}
	if string(s.ByContent("a.py", touched, sum)) != "record of a\n" {
		t.Error("a touched file gives no record")
	}
	s.Save(9 * second)
	if Open(file, "key").ByStamp("a.py", touched) == nil {
		t.Error("the new stamp was not kept")
	}
	if Open(file, "key").ByContent("b.py", Stamp{}, other) != nil {
		t.Error("a file that is gone was kept")
	}
}

func TestSpoiltStoreIsEmpty(t *testing.T) {
	file := saved(t, 9*second)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(Open(file, "another key").old) != 0 {
		t.Error("a store of another key was read")
	}
	for i := range data {
		spoilt := append([]byte(nil), data...)
		spoilt[i] ^= 0x20
		if len(decode(spoilt, "key")) != 0 {
			t.Fatalf("byte %d may be another one", i)
		}
		if len(decode(data[:i], "key")) != 0 {
			t.Fatalf("%d bytes count as a store", i)
		}
	}
	body := data[:len(data)-sha256.Size-3]
	again := sha256.Sum256(body)
	if len(decode(append(body, again[:]...), "key")) != 0 {
		t.Error("a store that ends early was read")
	}
}

func TestNothingIsWrittenWhereNothingChangedOrNothingCanBe(t *testing.T) {
	file := saved(t, 9*second)
	before, _ := os.Stat(file)
	s := Open(file, "key")
	s.ByStamp("a.py", old)
	s.put("b.py", s.old["b.py"], false)
	s.Save(10 * second)
	if after, _ := os.Stat(file); !os.SameFile(before, after) {
		t.Error("the same entries were written again")
	}
	in := filepath.Join(file, "not a folder")
	s = Open(in, "key")
	s.Put("a.py", old, sum, nil)
	s.Save(9 * second)
	var none *Store
	none.Put("a.py", old, sum, nil)
	none.Save(0)
	if none.ByStamp("a.py", old) != nil || none.ByContent("a.py", old, sum) != nil {
		t.Error("no store gave a record")
	}
}
