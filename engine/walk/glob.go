package walk

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
)

// Glob returns the files of the package that match a pattern of include and none of exclude, sorted, relative to
// the package's folder. A subfolder that is itself a package is not entered.
func (t *Tree) Glob(pkg string, include, exclude []string, opts Options) ([]string, error) {
	included, err := compileAll(include, opts)
	if err != nil {
		return nil, err
	}
	excluded, err := compileAll(exclude, opts)
	if err != nil {
		return nil, err
	}
	dir := t.dirs[pkg]
	if dir == nil {
		return nil, nil
	}
	var matched []string
	var elements []string
	for _, file := range t.ownedFiles(dir) {
		elements = splitInto(elements[:0], file)
		if matchAny(included, elements) && !matchAny(excluded, elements) {
			matched = append(matched, file)
		}
	}
	return matched, nil
}

// Subpackages returns the folders below pkg that are packages and match, not looking below those.
func (t *Tree) Subpackages(pkg string, include, exclude []string) ([]string, error) {
	included, err := compileAll(include, Options{Hidden: true})
	if err != nil {
		return nil, err
	}
	excluded, err := compileAll(exclude, Options{Hidden: true})
	if err != nil {
		return nil, err
	}
	var found []string
	var visit func(dirPath, below string)
	visit = func(dirPath, below string) {
		dir := t.dirs[dirPath]
		if dir == nil {
			return
		}
		for _, name := range dir.Dirs {
			sub, rel := t.dirs[join(dirPath, name)], path.Join(below, name)
			if sub == nil {
				continue
			}
			if sub.BuildFile == "" {
				visit(sub.Path, rel)
			} else if elements := strings.Split(rel, "/"); matchAny(included, elements) && !matchAny(excluded, elements) {
				found = append(found, rel)
			}
		}
	}
	visit(pkg, "")
	return found, nil
}

// ownedFiles lists the files of the package at dir, once.
func (t *Tree) ownedFiles(dir *Dir) []string {
	dir.globbed.Do(func() {
		var visit func(d *Dir, below string)
		visit = func(d *Dir, below string) {
			for _, name := range d.Files {
				dir.owned = append(dir.owned, below+name)
			}
			for _, name := range d.Dirs {
				if sub := t.dirs[join(d.Path, name)]; sub != nil && sub.BuildFile == "" {
					visit(sub, below+name+"/")
				}
			}
		}
		visit(dir, "")
		sort.Strings(dir.owned)
	})
	return dir.owned
}

func compileAll(globs []string, opts Options) ([]Pattern, error) {
	var all []Pattern
	for _, glob := range globs {
		if strings.HasPrefix(glob, "/") {
			return nil, fmt.Errorf("glob pattern %q must not start with a slash", glob)
		}
		if slices.Contains(strings.Split(glob, "/"), "..") {
			return nil, fmt.Errorf("glob pattern %q must not contain \"..\"", glob)
		}
		patterns, err := Compile(glob, opts)
		if err != nil {
			return nil, err
		}
		all = append(all, patterns...)
	}
	return all, nil
}

func matchAny(patterns []Pattern, elements []string) bool {
	for _, p := range patterns {
		if p.Match(elements) {
			return true
		}
	}
	return false
}

func splitInto(dst []string, file string) []string {
	for {
		i := strings.IndexByte(file, '/')
		if i < 0 {
			return append(dst, file)
		}
		dst = append(dst, file[:i])
		file = file[i+1:]
	}
}
