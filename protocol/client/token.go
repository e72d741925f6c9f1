package client

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// maxToken bounds a token's length in bytes.
const maxToken = 4096

// redacted is all that a token ever shows of itself.
const redacted = "[redacted]"

// Token is a bearer token that cannot be printed: every way of turning it into
// text gives [redacted]. It is held in a function, because package fmt calls no
// method on the unexported fields of whatever a token ends up in. The zero value
// is no token.
type Token struct{ secret func() string }

// NewToken makes a token of its text, without surrounding white space. It
// refuses what cannot stand in a header, and does not repeat it.
func NewToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return Token{}, errors.New("the token is empty")
	case len(text) > maxToken:
		return Token{}, fmt.Errorf("the token has %d bytes, at most %d are possible: is it the right file?", len(text), maxToken)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Token{}, errors.New("the token holds white space or characters that no token has: is it the right file?")
	}
	return Token{func() string { return text }}, nil
}

// IsZero reports whether there is no token.
func (t Token) IsZero() bool { return t.secret == nil }

// String hides the token.
func (t Token) String() string { return redacted }

// GoString hides the token from %#v.
func (t Token) GoString() string { return redacted }

// Format hides the token from every verb of package fmt.
func (t Token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText hides the token from JSON and other encoders.
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue hides the token from structured logs.
func (t Token) LogValue() slog.Value { return slog.StringValue(redacted) }

// header is the one way out: the value of an Authorization header.
func (t Token) header() string { return "Bearer " + t.secret() }
