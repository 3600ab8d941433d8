package evaluate

import (
	"maps"
	"slices"

	"buildfix/engine/proto"
	"buildfix/engine/walk"
)

// record encodes a package and its calls.
func (e *Engine) record(r *run) []byte {
	size := 1024
	for i := range r.calls {
		size += len(r.calls[i].json) + 16
	}
	errs := append([]Error(nil), r.errors...)
	dst := make([]byte, 0, size)
	dst = appendPackage(dst, r.mode.Name, r.dir, joinAll(r.dir.Path, r.dir.BuildFile))
	dst = e.appendLoads(dst, r.mode, r.file)
	dst = appendOpaque(dst, r.opaque)
	dst = appendOutcome(dst, e.addLoadedErrors(errs, r))
	for i := range r.calls {
		dst = r.calls[i].appendTo(dst)
	}
	return dst
}

func appendPackage(dst []byte, mode string, dir *walk.Dir, file string) []byte {
	dst = append(dst, `{"t":"package"`...)
	dst = proto.AppendField(dst, "mode", mode)
	dst = proto.AppendField(dst, "cell", dir.Cell.Name)
	dst = proto.AppendField(dst, "path", dir.Path)
	return proto.AppendField(dst, "file", file)
}

// appendOutcome encodes `complete` and `errors`, and ends the record.
func appendOutcome(dst []byte, errs []Error) []byte {
	complete := true
	for i := range errs {
		if errs[i].Kind != "call" {
			complete = false
		}
	}
	dst = proto.AppendBool(dst, "complete", complete)
	dst = append(dst, `,"errors":[`...)
	for i := range errs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendError(dst, &errs[i])
	}
	return append(dst, "]}\n"...)
}

// fileRecords are the records of the files that are not build files of packages, or are loaded all the same.
func (e *Engine) fileRecords(m *mode) []byte {
	loaded := map[string]bool{}
	for path, file := range e.files {
		if !file.isBuild || e.packageFileNamed(path) {
			loaded[path] = true
		}
		for _, target := range file.targets {
			loaded[target.path] = true
		}
	}
	delete(loaded, "")
	var dst []byte
	for _, path := range slices.Sorted(maps.Keys(loaded)) {
		dst = append(dst, `{"t":"file"`...)
		dst = proto.AppendField(dst, "mode", m.Name)
		dst = proto.AppendField(dst, "path", path)
		dst = e.appendLoads(dst, m, e.files[path])
		dst = append(dst, "}\n"...)
	}
	return dst
}

// appendLoads encodes the loads of one file.
func (e *Engine) appendLoads(dst []byte, m *mode, file *sourceFile) []byte {
	dst = append(dst, `,"loads":[`...)
	written := map[string]bool{}
	for i := range file.loads {
		if stmt := &file.loads[i]; !written[stmt.module] {
			if len(written) > 0 {
				dst = append(dst, ',')
			}
			written[stmt.module] = true
			dst = append(dst, `{"module":`...)
			dst = proto.AppendString(dst, stmt.module)
			how := file.targets[i].how
			if path := file.targets[i].path; e.files[path] == nil {
				how = m.how(stmt)
			} else {
				dst = proto.AppendField(dst, "path", path)
			}
			dst = proto.AppendField(dst, "how", how)
			dst = append(dst, '}')
		}
	}
	return append(dst, ']')
}

// eachLoaded visits the file and all that it loads, each once.
func (e *Engine) eachLoaded(file *sourceFile, visit func(*sourceFile)) {
	seen := map[*sourceFile]bool{}
	var enter func(*sourceFile)
	enter = func(file *sourceFile) {
		seen[file] = true
		visit(file)
		for _, target := range file.targets {
			if next := e.files[target.path]; next != nil && !seen[next] {
				enter(next)
			}
		}
	}
	enter(file)
}

// addLoadedErrors adds the errors of all files that the build file loads.
func (e *Engine) addLoadedErrors(errs []Error, r *run) []Error {
	e.eachLoaded(r.file, func(file *sourceFile) {
		if file == r.file {
			return
		}
		for _, err := range r.mode.errorsOf(file) {
			if err.Kind == "call" { // the loaded file may lack whatever the call was for
				err.Kind = "eval"
			}
			errs = append(errs, err)
		}
	})
	return errs
}

// errorsOf are the errors of a loaded file, if it was loaded.
func (m *mode) errorsOf(file *sourceFile) []Error {
	m.mu.Lock()
	loaded := m.modules[file]
	m.mu.Unlock()
	if loaded == nil {
		return nil
	}
	select {
	case <-loaded.done:
		return loaded.errors
	default:
		return nil
	}
}

// missingPackage is the record of a package that was asked for and does not exist.
func missingPackage(mode string, dir *walk.Dir) []byte {
	dst := appendPackage(nil, mode, dir, "")
	dst = append(dst, `,"loads":[],"opaque":[]`...)
	return appendOutcome(dst, []Error{{Kind: "read", Message: "there is no build file", File: dir.Path}})
}

// appendError encodes an error of a package record.
func appendError(dst []byte, e *Error) []byte {
	dst = append(dst, `{"kind":`...)
	dst = proto.AppendString(dst, e.Kind)
	dst = proto.AppendField(dst, "message", e.Message)
	dst = proto.AppendField(dst, "file", e.File)
	if e.Line > 0 {
		dst = proto.AppendInt(dst, "line", int64(e.Line))
		dst = proto.AppendInt(dst, "col", int64(e.Col))
	}
	if len(e.Stack) > 0 {
		dst = append(dst, `,"stack":[`...)
		for i, f := range e.Stack {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = proto.AppendFrame(dst, f.File, f.Line, f.Col, f.Function)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}
