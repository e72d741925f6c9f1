package protocol_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol"
)

// TestEveryErrorTeaches holds the catalogue to what it promises: every error of
// the source is in it, and each says why such a thing is refused and what to do.
func TestEveryErrorTeaches(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			declared += len(g.Specs)
		}
	}
	if n := len(protocol.Catalogue()); n != declared || n < 30 {
		t.Errorf("errors.go declares %d errors and Catalogue lists %d", declared, n)
	}
	seen := map[string]bool{}
	for _, e := range protocol.Catalogue() {
		if seen[e.Code] {
			t.Errorf("two errors have the code %s", e.Code)
		}
		seen[e.Code] = true
		r, ok := protocol.RemedyFor(e.Code)
		if !ok {
			t.Errorf("%s has no remedy: add one to remedies.go", e.Code)
			continue
		}
		for what, sentence := range map[string]string{"detail": e.Detail, "cause": r.Cause, "fix": r.Fix} {
			if len(sentence) < 12 || !strings.ContainsAny(sentence[len(sentence)-1:], ".-") && what != "detail" {
				t.Errorf("%s: its %s is no sentence: %q", e.Code, what, sentence)
			}
		}
		if r.Command != "" && !strings.HasPrefix(r.Command, "arena ") {
			t.Errorf("%s: %q is no command line", e.Code, r.Command)
		}
	}
	if _, ok := protocol.RemedyFor("no-such-code"); ok {
		t.Error("a code that is not in the catalogue has a remedy")
	}
}

// TestRemediesAreFilled puts names in the place of words in capitals, and only
// names that a shell reads as one word.
func TestRemediesAreFilled(t *testing.T) {
	r := protocol.Remedy{Command: "arena runs --challenge CHALLENGE --run-id RUN"}
	for _, c := range []struct{ challenge, run, want string }{
		{"tb2-9b", "challenge-1", "arena runs --challenge tb2-9b --run-id challenge-1"},
		{"tb2-9b", "", "arena runs --challenge tb2-9b --run-id RUN"},
		{"a b", "RUN", "arena runs --challenge CHALLENGE --run-id RUN"},
	} {
		if got := r.Fill(c.challenge, "", c.run).Command; got != c.want {
			t.Errorf("%q %q: %q, want %q", c.challenge, c.run, got, c.want)
		}
	}
}
