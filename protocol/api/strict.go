package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

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
