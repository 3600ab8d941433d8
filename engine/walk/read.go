package walk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// Exists reports whether a file can be read at the path: one that the walk listed, or, below a folder that it
// did not enter, one that lies inside the root.
func (t *Tree) Exists(file string) bool {
	if _, ok := t.overlay[file]; ok {
		return true
	}
	dirPath, name := path.Split(file)
	if dir := t.dirs[strings.TrimSuffix(dirPath, "/")]; dir != nil {
		if dir.HasFile(name) {
			return true
		}
		if !t.ignored(file) {
			return false
		}
	}
	full, err := t.inside(file)
	if err != nil {
		return false
	}
	info, err := os.Stat(full)
	return err == nil && info.Mode().IsRegular()
}

// locate is the absolute path of a file inside the root. The walk follows no symlinks to folders, so only a file that it
// did not list, or that is a symlink itself, needs to be resolved.
func (t *Tree) locate(file string) (string, error) {
	dirPath, name := path.Split(file)
	if dir := t.dirs[strings.TrimSuffix(dirPath, "/")]; dir != nil && dir.HasFile(name) && !dir.links[name] {
		return t.Root + "/" + file, nil
	}
	return t.inside(file)
}

// ErrTooLarge is the error of a file that is larger than the request allows.
var ErrTooLarge = errors.New("the file is too large")

// Read returns the text of a file inside the root, or of the overlay.
func (t *Tree) Read(file string) ([]byte, error) {
	if text, ok := t.overlay[file]; ok {
		return []byte(text), nil
	}
	full, err := t.locate(file)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(full)
	if err != nil {
		return nil, errors.New(plain(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, errors.New(plain(err))
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if info.Size() > t.fileBytes {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, info.Size(), t.fileBytes)
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New(plain(err))
	}
	return data[:n], nil
}
