package joblog

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// The bounds of one Python literal. Trainer records are flat and have a few
// dozen keys; anything beyond this is not one.
const (
	maxDepth = 8
	maxKey   = 128
)

// readDict reads the Python dictionary that b starts with, as print shows one,
// and calls visit for every number in it: numbers, numbers in quotes, nan and inf,
// and numpy or torch scalars such as np.float64(0.5). Keys of nested dictionaries
// are joined with a slash. Sequences, None and booleans are read over. It returns
// what follows the dictionary; ok is false when b does not start with a whole one.
func readDict(b []byte, visit func(key []byte, value float64)) (rest []byte, ok bool) {
	r := reader{b: b, visit: visit}
	if !r.dict(0) {
		return b, false
	}
	return r.b[r.i:], true
}

// reader is a recursive-descent reader of Python literals.
type reader struct {
	b     []byte
	i     int
	key   []byte // the path to the value being read
	visit func(key []byte, value float64)
}

// literal is what the reader needs to know of a value: its number, if it is one.
type literal struct {
	number float64
	is     bool
}

func (r *reader) space() {
	for r.i < len(r.b) && (r.b[r.i] == ' ' || r.b[r.i] == '\t') {
		r.i++
	}
}

// next skips spaces and takes c, if it comes next.
func (r *reader) next(c byte) bool {
	r.space()
	if r.i < len(r.b) && r.b[r.i] == c {
		r.i++
		return true
	}
	return false
}

// dict reads {key: value, …} and visits its numbers.
func (r *reader) dict(depth int) bool {
	if depth > maxDepth || !r.next('{') {
		return false
	}
	for outer := len(r.key); !r.next('}'); r.key = r.key[:outer] {
		r.space()
		key, ok := r.scalarText()
		if !ok || !r.next(':') {
			return false
		}
		if outer > 0 {
			r.key = append(r.key, '/')
		}
		r.key = append(r.key, key...)
		v, ok := r.value(depth + 1)
		if !ok {
			return false
		}
		if v.is && len(r.key) <= maxKey {
			r.visit(r.key, v.number)
		}
		if !r.next(',') {
			r.key = r.key[:outer]
			return r.next('}')
		}
	}
	return true
}

// value reads any literal.
func (r *reader) value(depth int) (literal, bool) {
	if depth > maxDepth {
		return literal{}, false
	}
	r.space()
	if r.i >= len(r.b) {
		return literal{}, false
	}
	switch c := r.b[r.i]; {
	case c == '{':
		return literal{}, r.dict(depth)
	case c == '[' || c == '(':
		_, ok := r.sequence(depth)
		return literal{}, ok
	case c == '\'' || c == '"':
		text, ok := r.quoted()
		n, isNumber := number(bytes.TrimSpace(text))
		return literal{n, isNumber}, ok
	default:
		return r.word(depth)
	}
}

// sequence reads the items between brackets and returns the first one.
func (r *reader) sequence(depth int) (first literal, ok bool) {
	end := byte(']')
	if r.b[r.i] == '(' {
		end = ')'
	}
	r.i++
	for n := 0; !r.next(end); n++ {
		v, ok := r.value(depth + 1)
		if !ok {
			return first, false
		}
		if n == 0 {
			first = v
		}
		if r.next('=') { // a keyword argument of a call
			if _, ok := r.value(depth + 1); !ok {
				return first, false
			}
		}
		if !r.next(',') {
			return first, r.next(end)
		}
	}
	return first, true
}

// word reads a number, a name, or a call such as tensor(0.5, device='cuda:0'),
// whose value is that of its first argument.
func (r *reader) word(depth int) (literal, bool) {
	start := r.i
	for r.i < len(r.b) && wordByte(r.b[r.i]) {
		r.i++
	}
	word := r.b[start:r.i]
	if len(word) == 0 {
		return literal{}, false
	}
	if r.i < len(r.b) && r.b[r.i] == '(' {
		if depth >= maxDepth {
			return literal{}, false
		}
		first, ok := r.sequence(depth + 1)
		return first, ok
	}
	n, isNumber := number(word)
	return literal{n, isNumber}, true
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		c == '_' || c == '.' || c == '+' || c == '-' || c >= utf8.RuneSelf
}

// scalarText reads a key: a quoted string or a bare word.
func (r *reader) scalarText() ([]byte, bool) {
	if r.i < len(r.b) && (r.b[r.i] == '\'' || r.b[r.i] == '"') {
		return r.quoted()
	}
	start := r.i
	for r.i < len(r.b) && wordByte(r.b[r.i]) {
		r.i++
	}
	return r.b[start:r.i], r.i > start
}

// quoted reads a string in either quote and returns its text as written.
func (r *reader) quoted() ([]byte, bool) {
	quote := r.b[r.i]
	start := r.i + 1
	for i := start; i < len(r.b); i++ {
		switch r.b[i] {
		case '\\':
			i++
		case quote:
			r.i = i + 1
			return r.b[start:i], true
		}
	}
	return nil, false
}

// number reads a Python number, nan or inf.
func number(word []byte) (float64, bool) {
	if len(word) == 0 || len(word) > 64 {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(word), 64)
	return n, err == nil
}
