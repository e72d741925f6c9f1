package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// TestEveryRefusalTeaches walks every refusal that there is, as the API answers
// it and as the command line shows it: each has its cause and its fix, and where
// a command helps, one that this binary takes.
func TestEveryRefusalTeaches(t *testing.T) {
	for _, e := range protocol.Catalogue() {
		t.Run(e.Code, func(t *testing.T) {
			raw, err := json.Marshal(api.ProblemFrom(e, "request-0001"))
			if err != nil {
				t.Fatal(err)
			}
			var p api.Problem
			if err := json.Unmarshal(raw, &p); err != nil || p.Detail == "" || p.Cause == "" || p.Fix == "" {
				t.Fatalf("the API answers %s", raw)
			}
			status := e.Kind.Status()
			arena := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", api.ProblemType)
				w.WriteHeader(status)
				_, _ = w.Write(raw)
			}))
			defer arena.Close()
			got := invoke(t, arena.URL, "whoami")
			if got.code != exitError || !strings.Contains(got.stdout, fmt.Sprintf("%q:%q", "code", e.Code)) {
				t.Errorf("whoami exits %d and prints %s", got.code, got.stdout)
			}
			for _, want := range []string{"arena: " + p.Detail, "Why: " + p.Cause, "Fix: " + p.Fix, "Next: " + p.Command} {
				if want != "Next: " && !strings.Contains(got.stderr, want) {
					t.Errorf("the command line does not say %q:\n%s", want, got.stderr)
				}
			}
			if p.Command != "" {
				parses(t, p.Command)
			}
		})
	}
	for code, r := range clientRemedies() {
		if r.Cause == "" || r.Fix == "" {
			t.Errorf("%s teaches nothing", code)
		}
		if r.Command != "" {
			parses(t, r.Command)
		}
	}
}

// parses requires that a command line is one that this binary takes.
func parses(t *testing.T, command string) *kong.Context {
	t.Helper()
	words := strings.Fields(command)
	env, _, _, _ := testEnviron(t, "", nil)
	parser, err := newParser(new(grammar), env, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	line, err := parser.Parse(words[1:])
	if err != nil || words[0] != "arena" {
		t.Errorf("%q is not a command line that arena takes: %v", command, err)
	}
	return line
}

// TestCapabilitiesAreComplete compares what the binary says of itself with what
// it is: every verb, every error, and every flag with a sentence.
func TestCapabilitiesAreComplete(t *testing.T) {
	got := invoke(t, "", "capabilities", "--json")
	var c capabilities
	if err := json.Unmarshal([]byte(got.stdout), &c); err != nil || got.code != exitOK {
		t.Fatalf("exit %d: %v", got.code, err)
	}
	said := map[string]bool{}
	for _, v := range c.Verbs {
		said["arena "+v.Verb] = true
		for _, f := range v.Flags {
			if f.Help == "" {
				t.Errorf("%s %s says nothing", v.Verb, f.Flag)
			}
		}
	}
	for _, verb := range verbs(t) {
		if path := strings.Fields(verb.FullPath()); !verb.Hidden && !said[strings.Join(path, " ")] {
			t.Errorf("%s is not among them", verb.FullPath())
		}
	}
	if len(c.Errors) != len(protocol.Catalogue()) || len(c.ExitCodes) != 5 {
		t.Errorf("%d errors and %d exit codes", len(c.Errors), len(c.ExitCodes))
	}
	page := invoke(t, "", "man")
	for _, want := range []string{".TH ARENA 1", ".SS arena board post", `\-\-challenge`, ".SH EXIT STATUS", `daily\-limit`} {
		if !strings.Contains(page.stdout, want) {
			t.Errorf("the manual page does not hold %q", want)
		}
	}
}
