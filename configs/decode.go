package configs

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// maxMistakes bounds how many values of a wrong type are reported for one file.
const maxMistakes = 50

// decode reads a TOML document into a copy of base and reports everything that
// is wrong with it: syntax, every unknown key, every value of a wrong type. The
// value is what could be read.
//
// The library stops at the first value of a wrong type. To see the others, the
// part of the document that holds it is blanked out, which keeps all positions,
// and the document is decoded again.
func decode[T any](file string, doc []byte, base T) (T, Origin, Problems) {
	origin, parts, syntax := outline(file, doc)
	if syntax != nil {
		return base, origin, Problems{*syntax}
	}
	var problems Problems
	doc = bytes.Clone(doc)
	for range maxMistakes {
		value := base
		err := toml.NewDecoder(bytes.NewReader(doc)).DisallowUnknownFields().Decode(&value)
		var unknown *toml.StrictMissingError
		var wrong *toml.DecodeError
		switch {
		case err == nil:
			return value, origin, problems
		case errors.As(err, &unknown):
			for i := range unknown.Errors {
				problems = append(problems, unknownKey[T](file, &unknown.Errors[i]))
			}
			return value, origin, problems
		case errors.As(err, &wrong):
			problems = append(problems, wrongType[T](file, wrong))
			if !blank(doc, parts, wrong) {
				return value, origin, problems
			}
		default:
			return value, origin, append(problems, Problem{File: file, Message: strings.TrimPrefix(err.Error(), "toml: ")})
		}
	}
	return base, origin, problems
}

func unknownKey[T any](file string, e *toml.DecodeError) Problem {
	line, column := e.Position()
	key := []string(e.Key())
	p := Problem{File: file, Line: line, Column: column, Key: strings.Join(key, "."), Message: "is not a known key"}
	// The library names the whole path even when its first unknown part is a
	// table further up; that part is the one to explain.
	for i := range key {
		if typeAt(reflect.TypeFor[T](), key[:i+1]) == nil {
			p.Fix = suggestion(key[i], keysOf(typeAt(reflect.TypeFor[T](), key[:i])))
			break
		}
	}
	return p
}

// mismatch is how the library words a value of the wrong type.
var mismatch = regexp.MustCompile(`cannot decode TOML (\w+) into`)

func wrongType[T any](file string, e *toml.DecodeError) Problem {
	line, column := e.Position()
	p := Problem{File: file, Line: line, Column: column, Key: strings.Join(e.Key(), "."), Message: strings.TrimPrefix(e.Error(), "toml: ")}
	found := mismatch.FindStringSubmatch(p.Message)
	if t := typeAt(reflect.TypeFor[T](), e.Key()); found != nil && t != nil {
		p.Message = fmt.Sprintf("must be %s, not %s", describe(t), article(found[1]))
	}
	return p
}

// blank overwrites the part of a document around an error with spaces, for a
// table header together with the table's keys, and reports whether there was
// anything to overwrite.
func blank(doc []byte, parts []expression, e *toml.DecodeError) bool {
	line, column := e.Position()
	offset := 0
	for range line - 1 {
		offset += bytes.IndexByte(doc[offset:], '\n') + 1
	}
	offset += column - 1
	i := slices.IndexFunc(parts, func(p expression) bool { return p.start <= offset && offset < p.end })
	if i < 0 {
		return false
	}
	end := parts[i].end
	for j := i + 1; parts[i].header && j < len(parts) && !parts[j].header; j++ {
		end = parts[j].end
	}
	changed := false
	for j := parts[i].start; j < end; j++ {
		if doc[j] != '\n' && doc[j] != ' ' {
			doc[j], changed = ' ', true
		}
	}
	return changed
}

// typeAt is the type of the value at a dotted key below t, or nil when there is
// no such key.
func typeAt(t reflect.Type, key []string) reflect.Type {
	for _, part := range key {
		t = element(t)
		switch {
		case t == nil:
			return nil
		case t.Kind() == reflect.Map:
			t = t.Elem()
		case t.Kind() == reflect.Struct:
			f, ok := fieldOf(t, part)
			if !ok {
				return nil
			}
			t = f.Type
		default:
			return nil
		}
	}
	return t
}

// element is what a pointer or list holds.
func element(t reflect.Type) reflect.Type {
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	return t
}

func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); keyOf(f) == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// keyOf is the key of a struct's field, or "" when it has none.
func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
	return strings.TrimPrefix(name, "-")
}

// keysOf lists the keys that a table of type t may have, sorted.
func keysOf(t reflect.Type) []string {
	t = element(t)
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var keys []string
	for i := range t.NumField() {
		if k := keyOf(t.Field(i)); k != "" {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// missing reports the required keys below a table that a file does not have: all
// that are not marked optional. Optional tables count once they are there.
func missing(o Origin, t reflect.Type, prefix string) Problems {
	var problems Problems
	for i := range t.NumField() {
		f := t.Field(i)
		key := keyOf(f)
		if key == "" {
			continue
		}
		full := dotted(prefix, key)
		inner := element(f.Type)
		table := inner.Kind() == reflect.Struct && inner != reflect.TypeFor[toml.LocalDate]()
		switch {
		case f.Tag.Get("optional") != "" && !o.Has(full):
		case table:
			problems = append(problems, missing(o, inner, full)...)
		case !o.Has(full):
			problems = append(problems, o.Problem(full, "is missing"))
		}
	}
	return problems
}

// describe is what a value of type t is called in a TOML file.
func describe(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Dollars]():
		return "an amount of dollars"
	case t == reflect.TypeFor[toml.LocalDate]():
		return "a date such as 2026-09-22"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "an array of tables"
		}
		return "a list in which each item is " + describe(t.Elem())
	case reflect.Pointer:
		return describe(t.Elem())
	default:
		return "a table"
	}
}

// article puts the right article before the library's word for a TOML type.
func article(word string) string {
	if strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}
