package scan

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// decodeError says why a source cannot be decoded as it declares; line counts from 1.
type decodeError struct {
	line    int
	message string
}

var bom = []byte("\xef\xbb\xbf")

// decode appends src to dst as UTF-8 with plain newlines, as PEP 263 asks. What cannot be decoded becomes U+FFFD, so
// that the rest of the source can still be read.
func decode(dst, src []byte) ([]byte, *decodeError) {
	src, hasBOM := bytes.CutPrefix(src, bom)
	cookie, line := findCookie(src)
	name := codecName(cookie)
	start := len(dst)
	var problem *decodeError
	switch {
	case hasBOM && cookie != "" && !isPlainUTF8(cookie):
		problem = &decodeError{line, "encoding problem: " + cookie + " with BOM"}
		dst = appendUTF8(dst, src)
	case name == "utf-8":
		if !utf8.Valid(src) {
			problem = &decodeError{firstBad(src), "the source is not valid UTF-8 and declares no other encoding"}
		}
		dst = appendUTF8(dst, src)
	case name == "ascii":
		if at := bytes.IndexFunc(src, func(r rune) bool { return r >= utf8.RuneSelf }); at >= 0 {
			problem = &decodeError{lineOf(src, at), "the source declares ascii but is not"}
		}
		dst = appendUTF8(dst, src)
	case codecs[name] != nil:
		from := len(dst)
		dst = appendDecoded(dst, src, name)
		if at := bytes.IndexRune(dst[from:], utf8.RuneError); at >= 0 {
			problem = &decodeError{lineOf(dst[from:], at), "the source is not valid " + cookie + ", which it declares"}
		}
	default:
		problem = &decodeError{line, "unknown encoding: " + cookie}
		dst = appendUTF8(dst, src)
	}
	return plainNewlines(dst, start), problem
}

// appendUTF8 appends src with U+FFFD for what is not UTF-8.
func appendUTF8(dst, src []byte) []byte {
	if utf8.Valid(src) {
		return append(dst, src...)
	}
	return append(dst, bytes.ToValidUTF8(src, []byte("\uFFFD"))...)
}

// appendDecoded appends src as UTF-8, with U+FFFD for what the codec does not know.
func appendDecoded(dst, src []byte, name string) []byte {
	table, ok := codecs[name].(*charmap.Charmap)
	if !ok {
		text, err := codecs[name].NewDecoder().Bytes(src)
		if err != nil {
			text = append(text, "\uFFFD"...)
		}
		return append(dst, text...)
	}
	iso := isISO(table)
	for _, c := range src {
		r := table.DecodeByte(c)
		// Go and CPython disagree about control characters: Python's ISO 8859 has them, its Windows tables have not.
		if isControl := c >= 0x80 && c < 0xa0; isControl && iso {
			r = rune(c)
		} else if isControl && r == rune(c) {
			r = utf8.RuneError
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func isISO(table *charmap.Charmap) bool { return strings.HasPrefix(table.String(), "ISO 8859") }

// plainNewlines turns CRLF and lone CR into LF from start on, as CPython does before it looks at a source.
func plainNewlines(text []byte, start int) []byte {
	i := bytes.IndexByte(text[start:], '\r')
	if i < 0 {
		return text
	}
	to := start + i
	for from := to; from < len(text); from++ {
		c := text[from]
		if c == '\r' {
			if from+1 < len(text) && text[from+1] == '\n' {
				continue
			}
			c = '\n'
		}
		text[to] = c
		to++
	}
	return text[:to]
}

// firstBad is the line of the first byte of src that is not part of valid UTF-8.
func firstBad(src []byte) int {
	for at := 0; at < len(src); {
		r, size := utf8.DecodeRune(src[at:])
		if r == utf8.RuneError && size == 1 {
			return lineOf(src, at)
		}
		at += size
	}
	return 1
}

func lineOf(src []byte, at int) int {
	before := src[:at]
	crlf := bytes.Count(before, []byte("\r\n"))
	return 1 + bytes.Count(before, []byte("\n")) + bytes.Count(before, []byte("\r")) - crlf
}

// findCookie returns the encoding that a comment in the first two lines declares, and its line; "" if there is none.
func findCookie(src []byte) (cookie string, line int) {
	for line = 1; line <= 2; line++ {
		end := bytes.IndexAny(src, "\r\n")
		text := src
		if end >= 0 {
			text = src[:end]
		}
		comment := bytes.TrimLeft(text, " \t\f")
		if len(comment) > 0 && comment[0] != '#' {
			break // code: no second line is looked at
		}
		if cookie := cookieIn(comment); cookie != "" {
			return cookie, line
		}
		if end < 0 {
			break
		}
		if bytes.HasPrefix(src[end:], []byte("\r\n")) {
			end++
		}
		src = src[end+1:]
	}
	return "", 1
}

func cookieIn(comment []byte) string {
	for {
		_, after, found := bytes.Cut(comment, []byte("coding"))
		if !found {
			return ""
		}
		comment = after
		if len(after) == 0 || after[0] != ':' && after[0] != '=' {
			continue
		}
		value := bytes.TrimLeft(after[1:], " \t")
		n := 0
		for n < len(value) && (isWord[value[n]] && value[n] < utf8.RuneSelf || value[n] == '-' || value[n] == '.') {
			n++
		}
		if n > 0 {
			return string(value[:n])
		}
	}
}

// isPlainUTF8 tells whether a cookie may stand behind a byte order mark: there CPython knows one spelling.
func isPlainUTF8(cookie string) bool {
	name := strings.ReplaceAll(strings.ToLower(cookie), "_", "-")
	return name == "utf-8" || strings.HasPrefix(name, "utf-8-")
}

// codecName folds the spellings of an encoding's name as Python does.
func codecName(cookie string) string {
	name := strings.ReplaceAll(strings.ToLower(cookie), "_", "-")
	switch {
	case name == "", name == "utf-8", name == "utf8", name == "u8", name == "cp65001", name == "utf", strings.HasPrefix(name, "utf-8-"):
		return "utf-8"
	case strings.HasPrefix(name, "latin-1-"), strings.HasPrefix(name, "iso-8859-1-"), strings.HasPrefix(name, "iso-latin-1-"):
		return "latin1"
	case name == "us-ascii", name == "646", name == "ansi-x3.4-1968":
		return "ascii"
	}
	if codecs[name] != nil || name == "ascii" {
		return name
	}
	return strings.NewReplacer("-", "", ".", "").Replace(name)
}

// codecs holds what Python sources are seen in besides UTF-8, under names without hyphens.
var codecs = map[string]encoding.Encoding{
	"latin1": charmap.ISO8859_1, "latin": charmap.ISO8859_1, "l1": charmap.ISO8859_1, "iso88591": charmap.ISO8859_1,
	"isolatin1": charmap.ISO8859_1, "cp819": charmap.ISO8859_1, "8859": charmap.ISO8859_1,
	"latin2": charmap.ISO8859_2, "l2": charmap.ISO8859_2, "iso88592": charmap.ISO8859_2,
	"latin3": charmap.ISO8859_3, "iso88593": charmap.ISO8859_3,
	"latin4": charmap.ISO8859_4, "iso88594": charmap.ISO8859_4,
	"cyrillic": charmap.ISO8859_5, "iso88595": charmap.ISO8859_5,
	"arabic": charmap.ISO8859_6, "iso88596": charmap.ISO8859_6,
	"greek": charmap.ISO8859_7, "iso88597": charmap.ISO8859_7,
	"hebrew": charmap.ISO8859_8, "iso88598": charmap.ISO8859_8,
	"latin5": charmap.ISO8859_9, "iso88599": charmap.ISO8859_9,
	"latin6": charmap.ISO8859_10, "iso885910": charmap.ISO8859_10,
	"latin7": charmap.ISO8859_13, "iso885913": charmap.ISO8859_13,
	"latin8": charmap.ISO8859_14, "iso885914": charmap.ISO8859_14,
	"latin9": charmap.ISO8859_15, "iso885915": charmap.ISO8859_15,
	"latin10": charmap.ISO8859_16, "iso885916": charmap.ISO8859_16,
	"koi8r": charmap.KOI8R, "koi8u": charmap.KOI8U, "macroman": charmap.Macintosh, "mac": charmap.Macintosh,
	"maccyrillic": charmap.MacintoshCyrillic,
	"cp437":       charmap.CodePage437, "437": charmap.CodePage437, "cp850": charmap.CodePage850, "850": charmap.CodePage850,
	"cp852": charmap.CodePage852, "cp855": charmap.CodePage855, "cp858": charmap.CodePage858, "cp860": charmap.CodePage860,
	"cp862": charmap.CodePage862, "cp863": charmap.CodePage863, "cp865": charmap.CodePage865, "cp866": charmap.CodePage866,
	"cp874": charmap.Windows874, "cp1250": charmap.Windows1250, "windows1250": charmap.Windows1250,
	"cp1251": charmap.Windows1251, "windows1251": charmap.Windows1251, "cp1252": charmap.Windows1252,
	"windows1252": charmap.Windows1252, "cp1253": charmap.Windows1253, "windows1253": charmap.Windows1253,
	"cp1254": charmap.Windows1254, "windows1254": charmap.Windows1254, "cp1255": charmap.Windows1255,
	"windows1255": charmap.Windows1255, "cp1256": charmap.Windows1256, "windows1256": charmap.Windows1256,
	"cp1257": charmap.Windows1257, "windows1257": charmap.Windows1257, "cp1258": charmap.Windows1258,
	"windows1258": charmap.Windows1258,
	"shiftjis":    japanese.ShiftJIS, "sjis": japanese.ShiftJIS, "cp932": japanese.ShiftJIS, "eucjp": japanese.EUCJP,
	"iso2022jp": japanese.ISO2022JP, "euckr": korean.EUCKR, "cp949": korean.EUCKR,
	"gbk": simplifiedchinese.GBK, "gb2312": simplifiedchinese.GBK, "cp936": simplifiedchinese.GBK,
	"gb18030": simplifiedchinese.GB18030, "hz": simplifiedchinese.HZGB2312, "big5": traditionalchinese.Big5,
	"cp950": traditionalchinese.Big5,
}
