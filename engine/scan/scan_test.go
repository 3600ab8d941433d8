package scan

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

var words = Options{
	MarkerWords: []string{"@manual", "@noautodeps"},
	Callees:     NewWords([]string{"__import__", "exec", "import_module", "patch"}),
	Holders:     NewWords([]string{"plugins"}),
}

// snippets are sources with the record that they must give, but for its type and path.
var snippets = []struct{ what, source, want string }{
	{"an empty source", "", `{}`},
	{
		"an import is its whole dotted path, whatever it is called",
		"import granary.bins.north as n",
		`{"imports":[["granary.bins.north",0,"","n",1,0,1,7,1,-1]]}`,
	},
	{
		"a dotted name broken over lines",
		"from kiln\\\n    .tray.\\\n  glaze import (\n        Pot,  # the only one\n)\nimport os; import kiln . tray . glaze\n",
		`{"imports":[["kiln.tray.glaze",0,"Pot","",1,0,4,8,5,-1],["os",0,"","",6,0,6,7,6,-1],
		 ["kiln.tray.glaze",0,"","",6,11,6,18,6,-1]]}`,
	},
	{
		"relative imports and stars",
		"from .oat import *\nfrom ... import a as b\nfrom .... x.y import z",
		`{"imports":[["oat",1,"*","",1,0,1,17,1,-1],["",3,"a","b",2,0,2,16,2,-1],["x.y",4,"z","",3,0,3,21,3,-1]],"stars":true}`,
	},
	{
		"blocks and their heads",
		"if  A  and \\\n  B:\n  import a\nelif C: import b\nelse:\n  def f():\n    import c\n",
		`{"imports":[["a",0,"","",3,2,3,9,3,0],["b",0,"","",4,8,4,15,4,1],["c",0,"","",7,4,7,11,7,3]],
		 "blocks":[["if","A and B",-1,1],["elif","C",-1,4],["else","A and B || C",-1,5],["def","f",2,6]],"names":["f"]}`,
	},
	{
		"the handlers of a try are its head",
		"try:\n  import a\nexcept (X, y.Z) as e:\n  import b\nexcept:\n  import c\nelse:\n  import d\nfinally:\n  import f\n",
		`{"imports":[["a",0,"","",2,2,2,9,2,0],["b",0,"","",4,2,4,9,4,1],["c",0,"","",6,2,6,9,6,2],["d",0,"","",8,2,8,9,8,3],
		 ["f",0,"","",10,2,10,9,10,4]],
		 "blocks":[["try","(X, y.Z), BaseException",-1,1],["except","(X, y.Z)",-1,3],["except","BaseException",-1,5],
		 ["try-else","",-1,7],["finally","",-1,9]],"names":["e"]}`,
	},
	{
		"exception types without brackets, as of Python 3.14",
		"try: import a\nexcept A, B: import b\n",
		`{"imports":[["a",0,"","",1,5,1,12,1,0],["b",0,"","",2,13,2,20,2,1]],"blocks":[["try","A, B",-1,1],["except","A, B",-1,2]]}`,
	},
	{
		"with, loops, match",
		"with suppress(A), (b) as c:\n  import a\nwith (x as y,\n z):\n  import b\nfor i in j: import c\nelse: import d\n" +
			"while k: import e\nmatch m, n:\n  case P(q=[r, *_]) | {'s': 1, **t} if u:\n    import f\n",
		`{"imports":[["a",0,"","",2,2,2,9,2,0],["b",0,"","",5,2,5,9,5,1],["c",0,"","",6,12,6,19,6,2],["d",0,"","",7,6,7,13,7,3],
		 ["e",0,"","",8,9,8,16,8,4],["f",0,"","",11,4,11,11,11,6]],
		 "blocks":[["with","suppress(A), (b) as c",-1,1],["with","(x as y, z)",-1,3],["for","",-1,6],["for-else","",-1,7],
		 ["while","",-1,8],["match","m, n",-1,9],["case","P(q=[r, *_]) | {'s': 1, **t}",5,10]],
		 "names":["c","y","i","r","t"]}`,
	},
	{
		"names that module level binds",
		"a, (b, *c), d.e, f[g], (h).i = j = 1\nk: int\nl: int = 2\nm += 1\n[n for o in (p := q)]\ndef r(s=(t := 1)):\n" +
			"  global u\n  u = v = 1\nclass w: x = 1\ntype y[T] = int\nlambda: (z := 1)\n",
		`{"names":["a","b","c","j","l","m","p","r","t","u","w","y"]}`,
	},
	{
		"a literal __all__",
		"__all__ = ['a', \"b\" 'c'] + ['d']\n__all__ += 'e',\n__all__.append('f')\n__all__.extend(('g', r'h'))\n",
		`{"names":["__all__"],"all":["a","bc","d","e","f","g","h"]}`,
	},
	{"an empty __all__", "__all__ = ()", `{"names":["__all__"],"all":[]}`},
	{"an __all__ that is not literal", "__all__ = ['a']\n__all__ += b.__all__\n", `{"names":["__all__"],"all_dynamic":true}`},
	{"an __all__ that a function changes", "__all__ = ['a']\ndef f(x): __all__.append(x)\n", `{"names":["__all__","f"],"all_dynamic":true}`},
	{
		"strings that spell modules and labels",
		"'''a.doc'''\nx = 'a.b', 'a.' 'b.c', 'm.n:f', '//x:y', 'cell//x', 'plain', 'a b.c', '\\x61.b', b'a.b', '1.2'\n" +
			"def f():\n  'a.doc'\n  'a.b'\n",
		`{"names":["x","f"],"strings":[["a.b",2,4,""],["a.b.c",2,11,""],["m.n:f",2,23,""],["//x:y",2,32,""],["cell//x",2,41,""],
		 ["a.b",2,70,""],["a.b",5,2,""]]}`,
	},
	{
		"the beginnings of strings",
		"f'a.b.{c}', 'a.b%s' % c, 'a.' + c, 'a.{}'.format(c), f'//a/b{c}', f'e.g. {c}', f'{c}.a.b'",
		`{"strings":[["a.b.",1,0,"f"],["a.",1,12,"f"],["a.",1,25,"f"],["a.",1,35,"f"],["//a/",1,53,"f"]]}`,
	},
	{
		"calls that import by name",
		"importlib . import_module('a.b')\n__import__(f'a.{b}')\npatch(x)\nmock.patch()\npatch(target='c')\n",
		`{"strings":[["a.b",1,26,""],["a.",2,11,"f"],["c",5,13,"w"]],"dynamic":[["importlib . import_module",1,"a.b","const"],
		 ["__import__",2,"a.","prefix"],["patch",3,"","unknown"],["mock.patch",4,"","none"],["patch",5,"c","const"]]}`,
	},
	{
		"a call under the name that an import gives to it, and one that is passed on",
		"from m import import_module as im\nim('a')\nf(n.import_module, (patch).x, (patch)(1))\nload = import_module\n",
		`{"imports":[["m",0,"import_module","im",1,0,1,14,1,-1]],"names":["load"],"strings":[["a",2,3,"w"]],
		 "dynamic":[["im",2,"a","const"],["n.import_module",3,"","value"],["(patch)",3,"","unknown"],["import_module",4,"","value"]]}`,
	},
	{
		"single names where modules are held",
		"plugins = x = ['a', 'b c']\nother = ['d']\nplugins += ['e']\nself.plugins: 'f' = ('g',)\nf(plugins=['h'], other='i')\n" +
			"plugins.append('j')\nplugins = ['k = l:m', 'n = o.p']\n",
		`{"names":["plugins","x","other"],"strings":[["a",1,15,"w"],["e",3,12,"w"],["g",4,21,"w"],["h",5,11,"w"],["j",6,15,"w"],
		 ["l:m",7,11,""],["o.p",7,22,""]]}`,
	},
	{
		"what stands between two signs of an assignment is not held",
		"plugins = ['a', 'k = l:m', 'n.o'][f(plugins='c')] = ['b']\n",
		`{"names":["plugins"],"strings":[["n.o",1,27,""],["c",1,44,"w"],["b",1,53,"w"]]}`,
	},
	{
		"paths of sources, and code in strings",
		"'a/b.py', '../c.pyi', 'd e/f.py', 'import g, h.i as j; from k.l import (m,\\n n)', 'import is prose', f'from o import *\\n{p}'\n",
		`{"strings":[["a/b.py",1,0,"p"],["../c.pyi",1,10,"p"],["g",1,34,"c"],["h.i",1,34,"c"],["k.l.m",1,34,"c"],["k.l.n",1,34,"c"],
		 ["o",1,101,"c"]]}`,
	},
	{
		"attribute chains of imported names",
		"import a.b\nfrom c import d as e\na.b.c()\n(e.f).g[0].h\ni.j\ndef k(): import m\nm.n\n",
		`{"imports":[["a.b",0,"","",1,0,1,7,1,-1],["c",0,"d","e",2,0,2,14,2,-1],["m",0,"","",6,9,6,16,6,0]],"blocks":[["def","k",-1,6]],
		 "names":["k"],"chains":[["a.b.c",3],["e.f.g",4],["m.n",7]]}`,
	},
	{
		"markers",
		"# @noautodeps: because \nimport a  # @manual=//x:y\n# none\n",
		`{"imports":[["a",0,"","",2,0,2,7,2,-1]],"markers":[[1,0,"# @noautodeps: because",true],[2,10,"# @manual=//x:y",false]]}`,
	},
	{"main", "if '__main__' == __name__: pass", `{"main":true}`},
	{"main in a chain, in brackets", "if f((x == __name__) == ('__' 'main__')) or x < '__main__' == __name__: pass", `{"main":true}`},
	{
		"what only looks like main",
		"if x.__name__ == '__main__' == __name__[0] or x + __name__ == '__main__' or b'__main__' == __name__ == '__main__'[0]: pass",
		`{}`,
	},
	{"no main in a function", "def f():\n  if __name__ == '__main__': pass\n", `{"names":["f"]}`},
	{
		"line ends, byte order mark, form feed, tabs",
		"\xef\xbb\xbfimport a\r\n\fif x:\rimport b\r",
		`{"imports":[["a",0,"","",1,0,1,7,1,-1],["b",0,"","",3,0,3,7,3,-1]],
		 "error":{"kind":"syntax","message":"expected an indented block","line":3,"col":0}}`,
	},
	{"a declared encoding", "# -*- coding: latin-1 -*-\nN = '\xe9'; import kiln\n", `{"imports":[["kiln",0,"","",2,10,2,17,2,-1]],"names":["N"]}`},
	{
		"bytes that are not UTF-8",
		"N = '\xe9'\nimport kiln\n",
		`{"imports":[["kiln",0,"","",2,0,2,7,2,-1]],"names":["N"],
		 "error":{"kind":"encoding","message":"the source is not valid UTF-8 and declares no other encoding","line":1,"col":0}}`,
	},
	{"an unknown encoding", "# coding: rot13\n", `{"error":{"kind":"encoding","message":"unknown encoding: rot13","line":1,"col":0}}`},
	{"two spellings of a name", "import ﬁle\n", `{"imports":[["file",0,"","",1,0,1,7,1,-1]]}`},
	{
		"an open bracket does not hide what follows",
		"import kiln\ndef fire(\n    pass\nimport glaze\n",
		`{"imports":[["kiln",0,"","",1,0,1,7,1,-1],["glaze",0,"","",4,0,4,7,4,-1]],"names":["fire"],
		 "error":{"kind":"syntax","message":"'(' was never closed","line":2,"col":8}}`,
	},
	{
		"an open string does not hide what follows",
		"x = '''a\nimport b\n",
		`{"imports":[["b",0,"","",2,0,2,7,2,-1]],"names":["x"],
		 "error":{"kind":"syntax","message":"unterminated triple-quoted string literal","line":1,"col":4}}`,
	},
	{
		"Python 2",
		"print 'x'\nexec `y`\ntry:\n  import a\nexcept A, e:\n  import b; print >>c, 0777, 1L\nraise X, 'y'\n",
		`{"imports":[["a",0,"","",4,2,4,9,4,0],["b",0,"","",6,2,6,9,6,1]],"blocks":[["try","A",-1,3],["except","A",-1,5]],
		 "error":{"kind":"syntax","message":"a statement of Python 2","line":1,"col":0}}`,
	},
	{
		"soft keywords are names too",
		"match = case = type = _ = 1\nmatch(x)\nmatch[x] = 1\nmatch -x\ntype(x)\nmatch.y\nprint\nmatch * x, y\n",
		`{"names":["match","case","type","_"]}`,
	},
	{"f-strings in f-strings", "f'{a:{b!r:>{c}}}{ {'d': f'{e:%H:%M}'}['d'] = }{{}}' f\"{f'{\"x.y\"}'}\"\n", `{"strings":[["x.y",1,58,""]]}`},
	{"an f-string is no docstring", "f'a.b'\n", `{"strings":[["a.b",1,0,""]]}`},
	{
		"calls that import by name, in patterns",
		"match x:\n case patch() | m.patch: pass\n",
		`{"dynamic":[["patch",2,"","value"],["m.patch",2,"","value"]]}`,
	},
	{"t-strings", "t'a.{b}' rt'{c}'\n", `{"strings":[["a.",1,0,"f"]]}`},
}

func TestSnippets(t *testing.T) {
	for _, snippet := range snippets {
		result := Scan([]byte(snippet.source), words)
		line := result.AppendJSON(nil, "a.py", nil)
		var got, want map[string]any
		if err := json.Unmarshal(line, &got); err != nil {
			t.Errorf("%s: %v: %s", snippet.what, err, line)
			continue
		}
		if err := json.Unmarshal([]byte(snippet.want), &want); err != nil {
			t.Fatalf("%s: %v", snippet.what, err)
		}
		want["t"], want["path"] = "source", "a.py"
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", snippet.what, line, snippet.want)
		}
	}
}

// accepted and refused are a sentence of the grammar each. What only CPython's later stages refuse is accepted.
var accepted = []string{
	"def f(a, /, b=1, *, c, d=2, **e): pass", "def f(*args: *Ts, **k) -> x: pass", "lambda *a, b=1, **c: (yield)",
	"async def f():\n async with a as b, c: pass\n async for d in e: pass\n return [x async for x in y if await z]",
	"class A[T: int = str, *Ts = *x, **P](B, *c, m=d, **e): pass", "@(x := y)[0]\ndef f(): pass",
	"x = yield", "x = *a, b", "for x, in *a, b: pass", "a[b:=1, c:d:e, *f, ::]", "with (a): pass", "with (a, b): pass",
	"with (a, b) as c: pass", "with (a as b): pass", "with (yield): pass", "del (a), [b, c.d], e[0], ()", "() = [] = x",
	"try: pass\nexcept* A: pass", "x = 1if y else 2", "0_0, 0x_f, 1_0.0_1e1_0j, 0b1, 0o7, 00", "x: (yield)", "(x): int = 1",
	"f(*a, b, *c, d=1, *e, **g)", "f(a for a in b)", "{**a, b: c}", "{*a, b}", "{a: b for c in d}", "not a == b in c not in d is not e",
	"if x:\n\ty\nelse:\n        z", "match x:\n case -1 | 1+2j | 'a' 'b' | None | a.b | (c as d): pass", "global x; nonlocal y",
	"return", "assert x, y", "raise a from b", "a if b else c if d else lambda: e", "x = a @ b ** -c // ~d", "f'{x!r:^{y}.{z}}'",
	"match (x):\n case _: pass", "\\\nx = 1", "if x: pass\n  # comment\nelse: pass", "x = (\n#\n)", "print >>f, x", "a.b: int", "f'''{\nx\n}'''",
}

var refused = []string{
	"x = ", "a b", "def f(a=1, b): pass", "def f(*): pass", "def f(**a, b): pass", "def f(a, /, /): pass", "f(a=1, b)", "f(**a, *b)",
	"f(a for a in b, c)", "f(a.b=1)", "1 = x", "f() = 1", "a + b = c", "(a := 1) = 2", "x += y += z", "a, b += 1", "a, b: int",
	"(*a)", "[*a for a in b]", "{a: b, c}", "{**a: b}", "a[]", "del f()", "del *a", "import a.b as c.d", "from a import (b", "from a import ()",
	"from . import *, a", "import *", "from import a", "try: pass", "try: pass\nelse: pass", "try: pass\nexcept A: pass\nexcept* B: pass",
	"if x:\npass", "  x", "if x:\n    y\n  z", "if x:\n\ty\n        z", "01", "1__0", "0xg", "1_", "1e", "1.x", "'a", "'''a", "f'{'", "f'{}'",
	"f'}'", "f'{a!x}'", "f'{a ! r}'", "f'{a", "b'é'", "'\\x1'", "'\\N'", "b'' ''", "x = (1]", ")", "$", "a ? b", "\\ ", "class A: ", "async x",
	"for x in y", "for f() in y: pass", "match x:\n case a.b as _: pass", "match x:\n case 1+1: pass", "lambda x:", "a if b", "not", "a not b",
	"else: pass", "`x`", "a <> b", "with a as f(): pass", "type X", "@x", "yield = 1", "x = yield = 1", "a + not b", "print x", "\x00",
}

func TestVerdict(t *testing.T) {
	for _, source := range accepted {
		if r := Scan([]byte(source), Options{}); r.Error != nil {
			t.Errorf("%q is refused: %v", source, *r.Error)
		}
	}
	for _, source := range refused {
		if r := Scan([]byte(source), Options{}); r.Error == nil {
			t.Errorf("%q is accepted", source)
		}
	}
}

func TestKeepFiltersChains(t *testing.T) {
	r := Scan([]byte("import a\na.b.c\na.d\n"), Options{})
	line := r.AppendJSON(nil, "", func(name string) bool { return name == "d" })
	if !strings.Contains(string(line), `"chains":[["a.d",3]]`) {
		t.Errorf("%s", line)
	}
}

// TestHostileSources must neither overflow nor take more than linear time.
func TestHostileSources(t *testing.T) {
	const size = 1 << 20
	pieces := []string{
		"(", "[", "{", "x(", "((x),", "f'{", "f'''{", "f'{x:{", "'''", "\"\"\"\\\"", "\\\"'", "with (\n", "match (\n", "match x:\n case ", "if x:\n",
		"lambda:", "not ", "-", "x**", "x if y else ", ".patch()", "x.", "x[0].", "global a;", "a=", "(a)=", "*", "async ", "\n ", "import a\n",
		"def f(\n", "def f():\n  global b\n", "'a.'+", "'a.'\n", "else:\n", "except A, e:\n", "#@manual\n", "\\\n", "x;", "a.b\n", "a,", "{{", "}}",
	}
	for i := range 2 * len(pieces) {
		piece := pieces[i/2]
		source := []byte([]string{"import a\n", "import a\nx"}[i%2] + strings.Repeat(piece, size/len(piece)))
		start := time.Now()
		r := Scan(source, words)
		line := r.AppendJSON(nil, "", nil)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q repeated takes %v", piece, took)
		} else if testing.Verbose() {
			t.Logf("%q: %v, %d bytes", piece, took, len(line))
		}
		if len(line) > 64*size {
			t.Errorf("%q repeated gives %d bytes", piece, len(line))
		}
	}
	var indents strings.Builder
	for depth := range 1000 {
		indents.WriteString(strings.Repeat(" ", depth) + "if x:\n")
	}
	Scan([]byte(indents.String()), words)
}

func FuzzScan(f *testing.F) {
	for _, snippet := range snippets {
		f.Add([]byte(snippet.source))
	}
	for _, source := range append(accepted, refused...) {
		f.Add([]byte(source))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		first := Scan(source, words)
		line := first.AppendJSON(nil, "a.py", nil)
		if !json.Valid(line) {
			t.Fatalf("not JSON: %s", line)
		}
		again := Scan(source, words)
		if !reflect.DeepEqual(first, again) {
			t.Fatalf("two scans differ: %s", line)
		}
		for _, m := range first.Imports {
			if m.EndLine < m.Line || m.NameLine < m.Line || m.Block >= len(first.Blocks) {
				t.Fatalf("an import is out of place: %s", line)
			}
		}
	})
}
