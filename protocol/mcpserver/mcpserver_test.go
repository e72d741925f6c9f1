package mcpserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol/mcpserver"
)

// TestLimitsAreThoseOfTheCaller: what a tool asks the arena comes from the address
// of whoever calls it, whatever a client says of itself. Otherwise all who use tools
// would share one bucket, and one of them could empty it.
func TestLimitsAreThoseOfTheCaller(t *testing.T) {
	var from []string
	arena := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from = append(from, r.RemoteAddr)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"challenges":[]}`))
	})
	tools := mcpserver.New(mcpserver.Options{Arena: arena, Version: "1"})
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"challenges","arguments":{}}}`))
	r.RemoteAddr = "192.0.2.7:4711"
	r.Header.Set("X-Arena-Caller-Address", "198.51.100.1:1")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	tools.ServeHTTP(w, r)
	if len(from) != 1 || from[0] != "192.0.2.7:4711" {
		t.Errorf("the arena was asked from %q; the tool answered %d %s", from, w.Code, w.Body)
	}
}
