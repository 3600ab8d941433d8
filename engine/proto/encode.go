package proto

import (
	"strconv"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		if b >= ' ' && b != '"' && b != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// AppendField appends `,"key":` and the string value.
func AppendField(dst []byte, key, value string) []byte {
	dst = AppendKey(dst, key)
	return AppendString(dst, value)
}

// AppendKey appends `,"key":`.
func AppendKey(dst []byte, key string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, key...)
	return append(dst, '"', ':')
}

// AppendInt appends `,"key":value`.
func AppendInt(dst []byte, key string, value int64) []byte {
	dst = AppendKey(dst, key)
	return strconv.AppendInt(dst, value, 10)
}

// AppendBool appends `,"key":value`.
func AppendBool(dst []byte, key string, value bool) []byte {
	dst = AppendKey(dst, key)
	return strconv.AppendBool(dst, value)
}

// AppendFrame appends `[file,line,col,"function"]`.
func AppendFrame(dst []byte, file string, line, col int, function string) []byte {
	dst = append(dst, '[')
	dst = AppendString(dst, file)
	dst = append(dst, ',')
	dst = strconv.AppendInt(dst, int64(line), 10)
	dst = append(dst, ',')
	dst = strconv.AppendInt(dst, int64(col), 10)
	dst = append(dst, ',')
	dst = AppendString(dst, function)
	return append(dst, ']')
}

// Walk is a `walk` record: something that the walk could not enter or read.
func Walk(path, kind, message string) []byte {
	dst := append([]byte(nil), `{"t":"walk"`...)
	dst = AppendField(dst, "path", path)
	dst = AppendField(dst, "kind", kind)
	dst = AppendField(dst, "message", message)
	return append(dst, "}\n"...)
}

// Stat is a `stat` record: how long one stage took, and of how many things.
func Stat(name string, milliseconds int64, count int) []byte {
	dst := append([]byte(nil), `{"t":"stat"`...)
	dst = AppendField(dst, "name", name)
	dst = AppendInt(dst, "milliseconds", milliseconds)
	dst = AppendInt(dst, "count", int64(count))
	return append(dst, "}\n"...)
}

// Fingerprint is a `fingerprint` record: what the tree is now, and when anything in it last changed.
func Fingerprint(value, shape string, newest, now int64) []byte {
	dst := append([]byte(nil), `{"t":"fingerprint"`...)
	dst = AppendField(dst, "value", value)
	dst = AppendField(dst, "shape", shape)
	dst = AppendInt(dst, "newest", newest)
	dst = AppendInt(dst, "now", now)
	return append(dst, "}\n"...)
}

// Done is the last record of a stream.
func Done(peakMB int64) []byte {
	dst := append([]byte(nil), `{"t":"done"`...)
	dst = AppendInt(dst, "peak_mb", peakMB)
	return append(dst, "}\n"...)
}
