package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol/client"
)

// canary is a token that must appear nowhere but in an Authorization header.
const canary = "arena_canary0123456789canary0123456789canary01"

func TestTokenNeverPrints(t *testing.T) {
	token, err := client.NewToken(" " + canary + "\n")
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{BaseURL: "https://arena.example.org", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	type holder struct{ inside client.Token } // fmt calls no methods on unexported fields
	var out bytes.Buffer
	for _, v := range []any{token, &token, holder{token}, []client.Token{token}, map[string]any{"t": token}, c, *c, client.Options{Token: token}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	raw, err := json.Marshal(map[string]any{"token": token, "nested": struct{ T client.Token }{token}})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(raw)
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("call", "token", token, "options", client.Options{Token: token})
	}
	if strings.Contains(out.String(), "canary") {
		t.Errorf("the token is visible in:\n%s", out.String())
	}
	if got := fmt.Sprint(token); got != "[redacted]" {
		t.Errorf("prints as %q", got)
	}
}

func TestNewTokenRefusesWhatIsNone(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":         " \n",
		"two words":       "two words",
		"a line break":    "first\nsecond",
		"a control":       "to\x00ken",
		"not ASCII":       "tokén-tokén",
		"a whole file":    strings.Repeat("a", 5000),
		"an HTML page":    "<html><body>sign in</body></html>",
		"a carriage mark": "abc\rdef",
	} {
		token, err := client.NewToken(text)
		if err == nil || !token.IsZero() {
			t.Errorf("%s: accepted", name)
			continue
		}
		if trimmed := strings.TrimSpace(text); trimmed != "" && strings.Contains(err.Error(), trimmed) {
			t.Errorf("%s: the refusal repeats the text: %v", name, err)
		}
	}
}
