package pysyntax

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// decode turns the bytes of a file into text: UTF-8, no byte order mark, "\n"
// at the end of every line. It follows PEP 263 as CPython's tokenizer reads it.
func decode(src []byte) (text, encoding string, err *Error) {
	src, bom := bytes.CutPrefix(src, []byte("\xef\xbb\xbf"))
	line, declared := codingCookie(src)
	// Behind a byte order mark, CPython knows UTF-8 by its proper name only.
	if bom && declared != "utf-8" && !strings.HasPrefix(declared, "utf-8-") {
		return "", "", encodingError(line, "the file starts with a UTF-8 byte order mark but declares the encoding %q", declared)
	}
	encoding = normalEncoding(declared)
	if bytes.HasPrefix(src, []byte("\xff\xfe")) || bytes.HasPrefix(src, []byte("\xfe\xff")) {
		return "", "", encodingError(1, "the file is UTF-16; save it as UTF-8")
	}
	if i := bytes.IndexByte(src, 0); i >= 0 {
		at := position(lineStarts(string(src[:i])), Pos(i))
		return "", "", &Error{Kind: SyntaxError, Position: at, Msg: "source code cannot contain NUL bytes"}
	}
	if encoding != "utf-8" {
		if src, err = transcode(src, encoding, line); err != nil {
			return "", "", err
		}
	}
	return normalizeNewlines(src), encoding, nil
}

func encodingError(line int, format string, args ...any) *Error {
	return &Error{Kind: EncodingError, Position: Position{line, 1}, Msg: fmt.Sprintf(format, args...)}
}

// codingCookie looks for a coding declaration in the first two lines and
// returns its line and the name of the encoding, in lower case and with dashes.
// The second line counts only when the first holds nothing but a comment.
func codingCookie(src []byte) (line int, encoding string) {
	for line = 1; line <= 2 && len(src) > 0; line++ {
		end := bytes.IndexAny(src, "\r\n")
		if end < 0 {
			end = len(src)
		}
		content := bytes.TrimLeft(src[:end], " \t\f")
		if len(content) > 0 && content[0] != '#' {
			break
		}
		if name := cookieName(content); name != "" {
			return line, strings.ReplaceAll(strings.ToLower(name), "_", "-")
		}
		src = src[end:]
		src = bytes.TrimPrefix(src, []byte("\r"))
		src = bytes.TrimPrefix(src, []byte("\n"))
	}
	return 1, "utf-8"
}

// cookieName finds "coding: name" or "coding=name" in a comment.
func cookieName(comment []byte) string {
	for {
		i := bytes.Index(comment, []byte("coding"))
		if i < 0 {
			return ""
		}
		comment = comment[i+len("coding"):]
		if len(comment) == 0 || comment[0] != ':' && comment[0] != '=' {
			continue
		}
		rest := bytes.TrimLeft(comment[1:], " \t")
		n := 0
		for n < len(rest) && isCookieByte(rest[n]) {
			n++
		}
		if n > 0 {
			return string(rest[:n])
		}
	}
}

func isCookieByte(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '-' || c == '_' || c == '.'
}

// normalEncoding gives the encodings that matter most one spelling each.
func normalEncoding(name string) string {
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	switch {
	case name == "utf-8" || strings.HasPrefix(name, "utf-8-") || name == "utf8" || name == "u8":
		return "utf-8"
	case name == "latin-1" || name == "iso-8859-1" || name == "iso-latin-1",
		strings.HasPrefix(name, "latin-1-"), strings.HasPrefix(name, "iso-8859-1-"),
		strings.HasPrefix(name, "iso-latin-1-"),
		name == "latin1" || name == "latin" || name == "l1" || name == "iso8859-1" || name == "cp819":
		return "iso-8859-1"
	case name == "ascii" || name == "us-ascii" || name == "646":
		return "ascii"
	}
	return name
}

// transcode decodes single-byte encodings to UTF-8.
func transcode(src []byte, encoding string, line int) ([]byte, *Error) {
	table := charmapFor(encoding)
	if table == nil && encoding != "ascii" {
		return nil, encodingError(line, "unknown encoding %q; use UTF-8", encoding)
	}
	out := make([]byte, 0, len(src)+len(src)/8)
	for i, b := range src {
		if b < utf8.RuneSelf {
			out = append(out, b)
			continue
		}
		r := utf8.RuneError
		switch {
		case b < 0xa0 && strings.HasPrefix(encoding, "iso"):
			r = rune(b)
		case table != nil:
			r = table.DecodeByte(b)
		}
		// The table maps bytes that a Windows code page leaves undefined to
		// control characters; Python refuses them.
		windows := strings.HasPrefix(encoding, "cp") || strings.HasPrefix(encoding, "windows-")
		undefined := r == utf8.RuneError || windows && r < 0xa0
		if undefined {
			at := position(lineStarts(string(src[:i])), Pos(i))
			return nil, &Error{
				Kind: EncodingError, Position: at,
				Msg: fmt.Sprintf("byte 0x%02x is not defined in the declared encoding %q", b, encoding),
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out, nil
}

// charmapFor returns the table of a single-byte encoding by any name Python
// commonly has for it, or nil.
func charmapFor(encoding string) *charmap.Charmap {
	name := strings.TrimPrefix(encoding, "windows-")
	name = strings.TrimPrefix(name, "cp")
	name = strings.Replace(name, "iso8859-", "iso-8859-", 1)
	switch name {
	case "iso-8859-1":
		return charmap.ISO8859_1
	case "iso-8859-2", "latin2", "latin-2":
		return charmap.ISO8859_2
	case "iso-8859-3", "latin3":
		return charmap.ISO8859_3
	case "iso-8859-4", "latin4":
		return charmap.ISO8859_4
	case "iso-8859-5", "cyrillic":
		return charmap.ISO8859_5
	case "iso-8859-6", "arabic":
		return charmap.ISO8859_6
	case "iso-8859-7", "greek":
		return charmap.ISO8859_7
	case "iso-8859-8", "hebrew":
		return charmap.ISO8859_8
	case "iso-8859-9", "latin5":
		return charmap.ISO8859_9
	case "iso-8859-10", "latin6":
		return charmap.ISO8859_10
	case "iso-8859-13", "latin7":
		return charmap.ISO8859_13
	case "iso-8859-14", "latin8":
		return charmap.ISO8859_14
	case "iso-8859-15", "latin9", "latin-9":
		return charmap.ISO8859_15
	case "iso-8859-16", "latin10":
		return charmap.ISO8859_16
	case "koi8-r":
		return charmap.KOI8R
	case "koi8-u":
		return charmap.KOI8U
	case "mac-roman", "macintosh":
		return charmap.Macintosh
	}
	return codePageFor(name)
}

// codePageFor returns the table of a DOS or Windows code page by its number.
func codePageFor(number string) *charmap.Charmap {
	switch number {
	case "437":
		return charmap.CodePage437
	case "850":
		return charmap.CodePage850
	case "852":
		return charmap.CodePage852
	case "855":
		return charmap.CodePage855
	case "858":
		return charmap.CodePage858
	case "860":
		return charmap.CodePage860
	case "862":
		return charmap.CodePage862
	case "863":
		return charmap.CodePage863
	case "865":
		return charmap.CodePage865
	case "866":
		return charmap.CodePage866
	case "874":
		return charmap.Windows874
	case "1250":
		return charmap.Windows1250
	case "1251":
		return charmap.Windows1251
	case "1252":
		return charmap.Windows1252
	case "1253":
		return charmap.Windows1253
	case "1254":
		return charmap.Windows1254
	case "1255":
		return charmap.Windows1255
	case "1256":
		return charmap.Windows1256
	case "1257":
		return charmap.Windows1257
	case "1258":
		return charmap.Windows1258
	}
	return nil
}

// normalizeNewlines copies src with "\r\n" and "\r" replaced by "\n" and makes
// sure that the last line is ended.
func normalizeNewlines(src []byte) string {
	var b strings.Builder
	b.Grow(len(src) + 1)
	for {
		i := bytes.IndexByte(src, '\r')
		if i < 0 {
			break
		}
		b.Write(src[:i])
		b.WriteByte('\n')
		src = bytes.TrimPrefix(src[i+1:], []byte("\n"))
	}
	b.Write(src)
	if len(src) > 0 && src[len(src)-1] != '\n' {
		b.WriteByte('\n')
	}
	return b.String()
}

// lineStarts returns the offset at which each line of text starts.
func lineStarts(text string) []Pos {
	starts := make([]Pos, 1, 2+strings.Count(text, "\n"))
	for i := 0; ; {
		n := strings.IndexByte(text[i:], '\n')
		if n < 0 {
			return starts
		}
		i += n + 1
		starts = append(starts, Pos(i))
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// isNameStart and isNameByte accept every byte beyond ASCII; the runes of a
// finished name are checked once, by [validIdentifier].
func isNameStart(c byte) bool { return isLetter(c) || c == '_' || c >= utf8.RuneSelf }

func isNameByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c >= utf8.RuneSelf }
