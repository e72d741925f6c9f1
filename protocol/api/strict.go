package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/posttrainarena/arena/protocol"
)

// Decode reads the JSON body of a route into a value of its request type. The
// body must be one UTF-8 JSON object of bounded depth without repeated members
// (400), and match the published schema: no unknown members, no wrong types
// (422, naming each).
func (s *Schemas) Decode(r Route, body []byte, into any) error {
	value, err := parseStrict(body)
	if err != nil {
		return protocol.ErrMalformed.Detailf("The request body cannot be read: %s.", err)
	}
	schema := s.requests[r.Name]
	object, isObject := value.(map[string]any)
	bad := wrongMembers(s.registry.SchemaFromRef(schema.Ref), object)
	var found huma.ValidateResult
	huma.Validate(s.registry, schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, value, &found)
	for _, err := range found.Errors {
		f := fieldError(err)
		if f.Field == wholeBody && isObject {
			continue // a member is missing, which wrongMembers says by its name
		}
		bad = append(bad, f)
	}
	if len(bad) > 0 {
		return invalidBody(bad)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return protocol.ErrMalformed.Detailf("The request body cannot be read: %s.", err)
	}
	return nil
}

// wrongMembers names the members that an object has and must not have, and those
// that it lacks. Names are compared letter by letter, which neither the validator
// nor the decoder does.
func wrongMembers(schema *huma.Schema, object map[string]any) []protocol.FieldError {
	var bad []protocol.FieldError
	for name := range object {
		if schema.Properties[name] == nil {
			bad = append(bad, protocol.FieldError{Field: name, Message: validation.MsgUnexpectedProperty})
		}
	}
	for _, name := range schema.Required {
		if _, ok := object[name]; !ok && object != nil {
			bad = append(bad, protocol.FieldError{Field: name, Message: "is required"})
		}
	}
	return bad
}

const (
	wholeBody = "(body)" // the field of a finding about no member in particular
	maxFields = 50       // wrong members that one answer names
)

// fieldError is a finding of the validator.
func fieldError(err error) protocol.FieldError {
	d, ok := err.(*huma.ErrorDetail)
	if !ok {
		return protocol.FieldError{Field: wholeBody, Message: err.Error()}
	}
	return protocol.FieldError{Field: cmp.Or(d.Location, wholeBody), Message: d.Message}
}

// invalidBody names every member that is wrong, once.
func invalidBody(fields []protocol.FieldError) error {
	slices.SortFunc(fields, func(a, b protocol.FieldError) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	fields = slices.Compact(fields)
	first := fields[0]
	return protocol.ErrInvalid.Detailf("The request body does not have the form of this endpoint: %.80s %s.", first.Field, first.Message).
		WithFields(fields[:min(len(fields), maxFields)]...)
}

// maxDepth bounds how deep a request body may nest. No request needs more than
// three levels.
const maxDepth = 16

// parseStrict reads exactly one JSON value and refuses what the standard
// decoder lets pass silently: invalid UTF-8, repeated members, trailing data and
// unbounded depth.
func parseStrict(body []byte) (any, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("it is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	v, err := parseValue(d, 0)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the JSON ends early")
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is data after the JSON value")
	}
	return v, nil
}

func parseValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it nests deeper than %d levels", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return parseObject(d, depth)
	case json.Delim('['):
		return parseArray(d, depth)
	}
	if n, ok := t.(json.Number); ok {
		f, err := n.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %.40s is out of range", n)
		}
		return f, nil
	}
	return t, nil
}

func parseObject(d *json.Decoder, depth int) (any, error) {
	m := map[string]any{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, ok := t.(string)
		if !ok {
			return nil, errors.New("a member name is not a string")
		}
		if _, twice := m[key]; twice {
			return nil, fmt.Errorf("the member %.80q stands twice", key)
		}
		if m[key], err = parseValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return m, err
}

func parseArray(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := parseValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}
