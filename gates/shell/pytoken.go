package shell

import (
	"strings"
)

// pyToken is one token of inline Python code: enough to find calls with
// constant arguments, not a parser.
type pyToken struct {
	kind byte   // 'n' name, 's' string, '0' number, 'o' operator or bracket
	text string // value; for strings without prefix and quotes
	// plain says that a string has no interpolation.
	plain bool
}

// pyTokens splits Python code. It never fails: an unterminated string ends with the code.
func pyTokens(code string) []pyToken {
	out := make([]pyToken, 0, len(code)/4)
	for i := 0; i < len(code) && len(out) < 50_000; {
		c := code[i]
		switch {
		case c == '#':
			for i < len(code) && code[i] != '\n' {
				i++
			}
		case c == '"' || c == '\'':
			s, n := pyString(code[i:], false)
			out = append(out, pyToken{kind: 's', text: s, plain: true})
			i += n
		case c >= '0' && c <= '9':
			j := i
			for j < len(code) && (isNameByte(code[j]) || code[j] == '.') {
				j++
			}
			out = append(out, pyToken{kind: '0', text: code[i:j]})
			i = j
		case isNameByte(c) || c >= 0x80:
			j := i
			for j < len(code) && (isNameByte(code[j]) || code[j] >= 0x80) {
				j++
			}
			name := code[i:j]
			if j < len(code) && (code[j] == '"' || code[j] == '\'') && isStringPrefix(name) {
				lower := strings.ToLower(name)
				s, n := pyString(code[j:], strings.Contains(lower, "r"))
				out = append(out, pyToken{kind: 's', text: s, plain: !strings.Contains(lower, "f") || !strings.Contains(s, "{")})
				i = j + n
				continue
			}
			out = append(out, pyToken{kind: 'n', text: name})
			i = j
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\\':
			i++
		default:
			out = append(out, pyToken{kind: 'o', text: string(c)})
			i++
		}
	}
	return out
}

func isStringPrefix(s string) bool {
	return len(s) <= 2 && strings.Trim(strings.ToLower(s), "rbfut") == ""
}

// pyString reads a string literal and returns its value and length in bytes.
func pyString(s string, raw bool) (string, int) {
	quote := s[:1]
	if strings.HasPrefix(s, strings.Repeat(quote, 3)) {
		quote = s[:3]
	}
	var b strings.Builder
	for i := len(quote); i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], quote):
			return b.String(), i + len(quote)
		case s[i] == '\\' && i+1 < len(s):
			i++
			switch {
			case raw:
				b.WriteByte('\\')
				b.WriteByte(s[i])
			case s[i] == 'n':
				b.WriteByte('\n')
			case s[i] == 't':
				b.WriteByte('\t')
			case s[i] == '\n':
			default:
				b.WriteByte(s[i])
			}
		case s[i] == '\n' && len(quote) == 1:
			return b.String(), i // unterminated
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), len(s)
}
