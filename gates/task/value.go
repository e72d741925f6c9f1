package task

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// ValueKind is the shape of a [Value].
type ValueKind uint8

// The shapes of a value.
const (
	Absent ValueKind = iota // there is no such value
	Null                    // the key is there and empty
	Bool                    // a truth value
	Number                  // an integer or a fraction
	Text                    // anything else that is one scalar
	List                    // values in order
	Map                     // values by key
)

// Value is one value of a configuration file with the place where it stands. The zero Value is Absent, and every
// method of an absent value answers as one would hope, so lookups need no checks in between.
type Value struct {
	Kind   ValueKind
	Scalar string  // the text of a Bool, Number or Text
	Quoted bool    // the scalar stood in quotes or in a block
	Flow   bool    // a map in braces
	Line   int     // 1-based line in its file; 0 where the format gives no positions (TOML)
	Column int     // 1-based, in code points; 0 likewise
	Items  []Value // of a List
	Fields []Field // of a Map, in the file's order
}

// Field is one entry of a map. Line is where the key stands.
type Field struct {
	Key   string
	Line  int
	Value Value
}

// Get follows keys into nested maps and returns what is there, or an absent value.
func (v Value) Get(keys ...string) Value {
	for _, key := range keys {
		f, _ := v.field(key)
		v = f.Value
	}
	return v
}

// Has reports whether a map has a key, even one with an empty value.
func (v Value) Has(key string) bool {
	_, ok := v.field(key)
	return ok
}

// KeyLine is the line of a key, or the map's own line when the key is missing.
func (v Value) KeyLine(key string) int {
	if f, ok := v.field(key); ok {
		return f.Line
	}
	return v.Line
}

func (v Value) field(key string) (Field, bool) {
	i := slices.IndexFunc(v.Fields, func(f Field) bool { return f.Key == key })
	if i < 0 {
		return Field{}, false
	}
	return v.Fields[i], true
}

// AsText returns the text of any scalar, and false for lists, maps, null and absent values.
func (v Value) AsText() (string, bool) {
	switch v.Kind {
	case Bool, Number, Text:
		return v.Scalar, true
	default:
		return "", false
	}
}

// AsFloat returns a number, or a text that is one (the pipeline's reader accepts "900" for 900). Infinities and NaN are
// not numbers here.
func (v Value) AsFloat() (float64, bool) {
	if v.Kind != Number && v.Kind != Text {
		return 0, false
	}
	text := strings.ReplaceAll(strings.TrimSpace(v.Scalar), "_", "")
	if n, err := strconv.ParseInt(text, 0, 64); err == nil && v.Kind == Number {
		return float64(n), true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, false
	}
	return f, true
}

// AsBool returns a truth value. Unquoted yes, no, on and off count, because the pipeline's YAML reader takes them so.
func (v Value) AsBool() (value, ok bool) {
	if v.Kind != Bool && (v.Kind != Text || v.Quoted) {
		return false, false
	}
	switch strings.ToLower(v.Scalar) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	}
	return false, false
}
