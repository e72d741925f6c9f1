package artifacts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// object is a JSON object of which each member is decoded when it is asked for,
// so that one member of a wrong type costs only itself.
type object map[string]json.RawMessage

// errTwice is how decode refuses an object that names a member twice: readers
// disagree about which one counts.
var errTwice = errors.New("a name occurs twice")

// strict turns the JSON that Python writes into JSON: NaN, Infinity and -Infinity
// become the strings of that name, and a byte order mark goes.
func strict(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for i := 0; i < len(data); {
		if data[i] == '"' {
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(data))
			out = append(out, data[i:end]...)
			i = end
			continue
		}
		word := ""
		for _, w := range [...]string{"NaN", "Infinity", "-Infinity"} {
			if bytes.HasPrefix(data[i:], []byte(w)) {
				word = w
			}
		}
		if word == "" {
			out = append(out, data[i])
			i++
			continue
		}
		out = append(append(append(out, '"'), word...), '"')
		i += len(word)
	}
	return out
}

// decode reads a JSON object without decoding its members. It fails on anything
// else, on data after it, and with errTwice on a name that occurs twice.
func decode(data []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(strict(data)))
	start, err := d.Token()
	if err != nil {
		return nil, noEOF(err)
	}
	if start != json.Delim('{') {
		return nil, fmt.Errorf("it is not a JSON object")
	}
	o := object{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, noEOF(err)
		}
		name, _ := key.(string) // a name is always a string
		if _, twice := o[name]; twice {
			return nil, errTwice
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, noEOF(err)
		}
		o[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, noEOF(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("something follows the JSON object")
	}
	return o, nil
}

// noEOF says in words what an early end of the data means.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it is not complete JSON")
	}
	return fmt.Errorf("it is not JSON: %w", err)
}

// has reports whether a member is there and not null.
func (o object) has(name string) bool {
	v, ok := o[name]
	return ok && string(v) != "null"
}

// text returns a member that is a string, cut to a number of bytes.
func (o object) text(name string, limit int) string {
	var s string
	if json.Unmarshal(o[name], &s) != nil {
		return ""
	}
	return cut(s, limit)
}

// number returns a member that is a finite number, or nil.
func (o object) number(name string) *float64 {
	var n *float64
	if !o.has(name) || json.Unmarshal(o[name], &n) != nil {
		return nil
	}
	return n
}

// count returns a member that is a whole number of things, or nil.
func (o object) count(name string) *int64 {
	n := o.number(name)
	if n == nil || *n < 0 || *n != math.Trunc(*n) || *n > 1<<53 {
		return nil
	}
	whole := int64(*n)
	return &whole
}

// object returns a member that is an object, or an empty one.
func (o object) object(name string) object {
	if inner, err := decode(o[name]); err == nil {
		return inner
	}
	return object{}
}

// cut returns at most limit bytes of valid text, ending in … when some are gone.
func cut(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= limit {
		return s
	}
	n := max(0, limit-len("…"))
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
