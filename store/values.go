package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// How Go values become columns. Times are microseconds since 1970 in UTC, so
// that they sort as integers; what is absent is null; structures are JSON.

// micros is the column of an instant.
func micros(t time.Time) int64 { return t.UnixMicro() }

// microsOrNull is the column of an instant that may be absent.
func microsOrNull(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UnixMicro()
}

// textOrNull is the column of a reference that may be absent.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// instant scans a column of microseconds.
type instant struct{ to *time.Time }

// Scan implements sql.Scanner.
func (s instant) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is stored as %T instead of microseconds", v)
	}
	*s.to = time.UnixMicro(n).UTC()
	return nil
}

// maybeInstant scans a column of microseconds that may be null.
type maybeInstant struct{ to **time.Time }

// Scan implements sql.Scanner.
func (s maybeInstant) Scan(v any) error {
	if v == nil {
		*s.to = nil
		return nil
	}
	var t time.Time
	*s.to = &t
	return instant{&t}.Scan(v)
}

// maybeTime scans a column of microseconds that may be null, as the zero time.
type maybeTime struct{ to *time.Time }

// Scan implements sql.Scanner.
func (s maybeTime) Scan(v any) error {
	if v == nil {
		*s.to = time.Time{}
		return nil
	}
	return instant(s).Scan(v)
}

// maybeText scans a reference that may be null, as the empty string.
type maybeText struct{ to *string }

// Scan implements sql.Scanner.
func (s maybeText) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s.to = ""
	case string:
		*s.to = v
	default:
		return fmt.Errorf("a text is stored as %T", v)
	}
	return nil
}

// present is a list that JSON writes as [], never as null, so that a record
// reads back as it was written.
func present[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// asJSON stores a value as JSON and scans it from JSON into a pointer.
type asJSON struct{ v any }

// Value implements driver.Valuer.
func (j asJSON) Value() (driver.Value, error) {
	b, err := json.Marshal(j.v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", j.v, err)
	}
	return string(b), nil
}

// Scan implements sql.Scanner.
func (j asJSON) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("a %T is stored as %T instead of JSON", j.v, v)
	}
	if err := json.Unmarshal([]byte(s), j.v); err != nil {
		return fmt.Errorf("decode %T: %w", j.v, err)
	}
	return nil
}
