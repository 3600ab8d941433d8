// Package walk lists the tree once, and answers from that listing what is a package, what a glob matches and
// which Python files there are.
package walk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"buildfix/engine/kept"
	"buildfix/engine/proto"
)

// A Dir is one folder of the tree. Files and Dirs are sorted; Files holds symlinks to files inside the root too.
type Dir struct {
	Path      string
	Cell      *Cell
	Files     []string
	Dirs      []string
	BuildFile string // its name, or "" where the folder is no package

	links   map[string]bool       // the files that are symlinks
	stamps  map[string]kept.Stamp // of the Python files, where a fingerprint is wanted
	digest  digest                // of all entries, where a fingerprint is wanted
	globbed sync.Once
	owned   []string // the package's files, see Tree.owned
}

// A Cell is a Buck cell or a Bazel repository, with its ignore patterns compiled.
type Cell struct {
	proto.Cell
	ignore ignores
}

// A Problem is something that the walk could not enter or read.
type Problem struct{ Path, Kind, Message string }

// A Tree is the listing of everything under the root that no pattern ignores.
type Tree struct {
	Root     string // without symlinks
	Problems []Problem

	cells     []*Cell // longest path first
	ignore    ignores
	overlay   map[string]string
	fileBytes int64
	dirs      map[string]*Dir
	paths     []string // of all folders, sorted
	stats     bool     // whether a fingerprint is wanted
}

// New walks the tree that the request names.
func New(req *proto.Request) (*Tree, error) {
	root, err := filepath.EvalSymlinks(req.Root)
	if err != nil {
		return nil, err
	}
	t := &Tree{Root: root, overlay: req.Overlay, fileBytes: req.Limits.FileBytes, dirs: map[string]*Dir{},
		stats: req.Wants("fingerprint")}
	for _, pattern := range req.Ignore {
		if err := t.ignore.add(pattern, false); err != nil {
			return nil, err
		}
	}
	for _, c := range req.Cells {
		cell := &Cell{Cell: c}
		for _, pattern := range c.Ignore {
			if err := cell.ignore.add(pattern, true); err != nil {
				return nil, err
			}
		}
		t.cells = append(t.cells, cell)
	}
	sort.SliceStable(t.cells, func(i, j int) bool { return len(t.cells[i].Path) > len(t.cells[j].Path) })
	t.walk()
	t.addOverlay()
	for _, dir := range t.dirs {
		dir.BuildFile = dir.findBuildFile()
		t.paths = append(t.paths, dir.Path)
	}
	sort.Strings(t.paths)
	sort.Slice(t.Problems, func(i, j int) bool { return t.Problems[i].Path < t.Problems[j].Path })
	return t, nil
}

// walk lists all folders, several at once.
func (t *Tree) walk() {
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	var visit func(dirPath string)
	visit = func(dirPath string) {
		defer wg.Done()
		slots <- struct{}{}
		dir, problems := t.list(dirPath)
		<-slots
		mu.Lock()
		t.Problems = append(t.Problems, problems...)
		if dir != nil {
			t.dirs[dirPath] = dir
		}
		mu.Unlock()
		if dir != nil {
			wg.Add(len(dir.Dirs))
			for _, name := range dir.Dirs {
				go visit(join(dirPath, name))
			}
		}
	}
	wg.Add(1)
	visit("")
	wg.Wait()
}

// list reads one folder.
func (t *Tree) list(dirPath string) (*Dir, []Problem) {
	entries, err := os.ReadDir(filepath.Join(t.Root, dirPath))
	var problems []Problem
	if err != nil {
		problems = append(problems, Problem{dirPath, "read", plain(err)})
		if len(entries) == 0 && dirPath != "" {
			return nil, problems
		}
	}
	dir := &Dir{Path: dirPath, Cell: t.CellOf(dirPath)}
	for _, entry := range entries {
		name := entry.Name()
		full := join(dirPath, name)
		if t.ignored(full) {
			continue
		}
		if t.stats {
			info, _ := entry.Info() // nil where the file is gone
			dir.digest.add(filepath.Join(t.Root, dirPath), entry, info, dir.Cell.BuildFiles)
			dir.stamp(entry, info)
		}
		if !utf8.ValidString(name) {
			problems = append(problems, Problem{full, "read", "the file name is not UTF-8"})
			continue
		}
		switch mode := entry.Type(); {
		case mode.IsDir():
			dir.Dirs = append(dir.Dirs, name)
		case mode.IsRegular():
			dir.Files = append(dir.Files, name)
		case mode&fs.ModeSymlink != 0:
			if dir.links == nil {
				dir.links = map[string]bool{}
			}
			dir.links[name] = true
			if err := t.checkLink(full); err != nil {
				problems = append(problems, Problem{full, "symlink", err.Error()})
				if t.namesBuildFile(dir, name) {
					dir.Files = append(dir.Files, name) // a package, with an error when it is read
				}
				continue
			}
			dir.Files = append(dir.Files, name)
		}
	}
	return dir, problems
}

func (t *Tree) namesBuildFile(dir *Dir, name string) bool {
	for _, want := range dir.Cell.BuildFiles {
		if want == name {
			return true
		}
	}
	return false
}

// checkLink returns nil if the symlink leads to a regular file inside the root.
func (t *Tree) checkLink(file string) error {
	target, _ := os.Readlink(filepath.Join(t.Root, file))
	full, err := t.inside(file)
	if err != nil {
		return fmt.Errorf("%w: %s", err, target)
	}
	info, err := os.Stat(full)
	switch {
	case err != nil:
		return fmt.Errorf("symlink leads nowhere: %s", target)
	case info.IsDir():
		return fmt.Errorf("symlink to a folder is not followed: %s", target)
	case !info.Mode().IsRegular():
		return fmt.Errorf("symlink to something that is no file: %s", target)
	}
	return nil
}

var (
	errOutside = errors.New("symlink leads outside the root")
	errNowhere = errors.New("symlink leads nowhere")
)

// inside resolves all symlinks of a path and returns the absolute result, or an error if it lies outside the root.
func (t *Tree) inside(file string) (string, error) {
	full, err := filepath.EvalSymlinks(filepath.Join(t.Root, filepath.FromSlash(file)))
	if err != nil {
		return "", errNowhere
	}
	if full != t.Root && !strings.HasPrefix(full, strings.TrimSuffix(t.Root, "/")+"/") {
		return "", errOutside
	}
	return full, nil
}

func (t *Tree) ignored(full string) bool {
	elements := strings.Split(full, "/")
	if t.ignore.match(elements) {
		return true
	}
	cell := t.CellOf(full)
	if len(cell.ignore.patterns) == 0 {
		return false
	}
	below := strings.TrimPrefix(strings.TrimPrefix(full, cell.Path), "/")
	return below != "" && cell.ignore.match(strings.Split(below, "/"))
}

// CellOf returns the cell with the longest path that contains the given path.
func (t *Tree) CellOf(p string) *Cell {
	for _, cell := range t.cells {
		if cell.Path == "" || p == cell.Path || strings.HasPrefix(p, cell.Path+"/") {
			return cell
		}
	}
	return noCell
}

var noCell = &Cell{}

// CellNamed returns the cell of that name, or nil.
func (t *Tree) CellNamed(name string) *Cell {
	for _, cell := range t.cells {
		if cell.Name == name {
			return cell
		}
	}
	return nil
}

func (t *Tree) addOverlay() {
	for file := range t.overlay {
		dirPath, name := path.Split(file)
		dir := t.makeDir(strings.TrimSuffix(dirPath, "/"))
		dir.Files = insert(dir.Files, name)
	}
}

// makeDir returns the folder, entering it and its parents into the listing where they are missing.
func (t *Tree) makeDir(dirPath string) *Dir {
	if dir := t.dirs[dirPath]; dir != nil {
		return dir
	}
	dir := &Dir{Path: dirPath, Cell: t.CellOf(dirPath)}
	t.dirs[dirPath] = dir
	if dirPath != "" {
		parent, name := path.Split(dirPath)
		up := t.makeDir(strings.TrimSuffix(parent, "/"))
		up.Dirs = insert(up.Dirs, name)
	}
	return dir
}

func insert(names []string, name string) []string {
	i := sort.SearchStrings(names, name)
	if i < len(names) && names[i] == name {
		return names
	}
	names = append(names, "")
	copy(names[i+1:], names[i:])
	names[i] = name
	return names
}

func (d *Dir) findBuildFile() string {
	for _, name := range d.Cell.BuildFiles {
		if d.HasFile(name) {
			return name
		}
	}
	return ""
}

// HasFile reports whether the folder lists a file of exactly that name.
func (d *Dir) HasFile(name string) bool {
	i := sort.SearchStrings(d.Files, name)
	return i < len(d.Files) && d.Files[i] == name
}

// Dir returns the folder, or nil if the walk did not enter it.
func (t *Tree) Dir(dirPath string) *Dir { return t.dirs[dirPath] }

// Packages returns the folders that hold a build file, sorted by path.
func (t *Tree) Packages() []*Dir {
	var packages []*Dir
	for _, p := range t.paths {
		if dir := t.dirs[p]; dir.BuildFile != "" {
			packages = append(packages, dir)
		}
	}
	return packages
}

// Sources returns the paths of all .py and .pyi files in the folders of a part of the tree, sorted.
func (t *Tree) Sources(shard proto.Shard) []string {
	var sources []string
	for _, p := range t.paths {
		if !shard.Has(p) {
			continue
		}
		for _, name := range t.dirs[p].Files {
			if strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".pyi") {
				sources = append(sources, join(p, name))
			}
		}
	}
	sort.Strings(sources)
	return sources
}

// Stamp returns what the walk saw of a Python file, if it took that down and the file is no symlink.
func (t *Tree) Stamp(file string) (kept.Stamp, bool) {
	dirPath, name := path.Split(file)
	if dir := t.dirs[strings.TrimSuffix(dirPath, "/")]; dir != nil {
		stamp, ok := dir.stamps[name]
		return stamp, ok
	}
	return kept.Stamp{}, false
}

// stamp takes down what the system says of a Python file.
func (d *Dir) stamp(entry fs.DirEntry, info fs.FileInfo) {
	if ext := path.Ext(entry.Name()); info == nil || !entry.Type().IsRegular() || (ext != ".py" && ext != ".pyi") {
		return
	}
	if d.stamps == nil {
		d.stamps = map[string]kept.Stamp{}
	}
	inode, changed := identity(info)
	d.stamps[entry.Name()] = kept.Stamp{
		Size: info.Size(), Modified: info.ModTime().UnixNano(), Changed: changed, Inode: inode,
	}
}

// Names returns the names of all folders and the stems of all Python files.
func (t *Tree) Names() map[string]bool {
	names := map[string]bool{}
	for _, p := range t.paths {
		names[path.Base(p)] = true
		for _, file := range t.dirs[p].Files {
			if stem, ok := strings.CutSuffix(file, ".py"); ok {
				names[stem] = true
			} else if stem, ok := strings.CutSuffix(file, ".pyi"); ok {
				names[stem] = true
			}
		}
	}
	return names
}

// plain is an error's text without the absolute path, which differs between machines.
func plain(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

func join(dirPath, name string) string {
	if dirPath == "" {
		return name
	}
	return dirPath + "/" + name
}

// Count is the number of folders.
func (t *Tree) Count() int { return len(t.paths) }
