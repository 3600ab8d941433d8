package evaluate

import (
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
	dst = append(dst, `,"loads":[`...)
	dst, errs = e.appendLoads(dst, r, errs)
	dst = append(dst, ']')
	dst = appendOutcome(dst, errs)
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

// appendLoads encodes the loads of the build file and of all that it loads, and gathers those files' errors.
func (e *Engine) appendLoads(dst []byte, r *run, errs []Error) ([]byte, []Error) {
	seen := map[*sourceFile]bool{r.file: true}
	first := true
	var visit func(file *sourceFile)
	visit = func(file *sourceFile) {
		written := map[string]bool{}
		for i := range file.loads {
			stmt, target := &file.loads[i], file.targets[i]
			next := e.files[target.path]
			if !written[stmt.module] {
				written[stmt.module] = true
				if !first {
					dst = append(dst, ',')
				}
				first = false
				dst = append(dst, `{"from":`...)
				dst = proto.AppendString(dst, file.path)
				dst = proto.AppendField(dst, "module", stmt.module)
				how := target.how
				if next == nil {
					how = r.mode.how(stmt)
				} else {
					dst = proto.AppendField(dst, "path", target.path)
				}
				dst = proto.AppendField(dst, "how", how)
				dst = append(dst, '}')
			}
			if next == nil || seen[next] {
				continue
			}
			seen[next] = true
			for _, err := range r.mode.errorsOf(next) {
				if err.Kind == "call" { // the loaded file may lack whatever the call was for
					err.Kind = "eval"
				}
				errs = append(errs, err)
			}
			visit(next)
		}
	}
	visit(r.file)
	return dst, errs
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
	dst = append(dst, `,"loads":[]`...)
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
