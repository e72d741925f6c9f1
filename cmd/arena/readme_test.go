package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// TestReadmeListsEveryVerbAndRoute compares the README's two lists with the
// grammar and the route table. ARENA_UPDATE=1 writes them anew.
func TestReadmeListsEveryVerbAndRoute(t *testing.T) {
	const path = "../../README.md"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for name, want := range map[string]string{"verbs": verbTable(t), "routes": routeTable()} {
		before, rest, ok := strings.Cut(text, "<!-- "+name+" -->\n")
		got, after, closed := strings.Cut(rest, "<!-- /"+name+" -->\n")
		if !ok || !closed {
			t.Fatalf("README.md has no place for the %s", name)
		}
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" && os.Getenv("ARENA_UPDATE") == "" {
			t.Errorf("README.md lists other %s; run ARENA_UPDATE=1 go test ./cmd/arena -run TestReadme (-want +got):\n%s", name, diff)
		}
		text = before + "<!-- " + name + " -->\n" + want + "<!-- /" + name + " -->\n" + after
	}
	if os.Getenv("ARENA_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// verbTable lists the verbs in the order of the help, a group after the other.
func verbTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| verb | what it does |\n|---|---|\n")
	all := verbs(t)
	for _, g := range groups() {
		for _, v := range all {
			if !v.Hidden && groupOf(v) == g.Key {
				fmt.Fprintf(&b, "| `%s` | %s |\n", v.FullPath(), v.Help)
			}
		}
	}
	return b.String()
}

// groupOf is the group of a verb, or of the verb that it is a part of.
func groupOf(v *kong.Node) string {
	for ; v != nil; v = v.Parent {
		if v.Group != nil {
			return v.Group.Key
		}
	}
	return ""
}

func routeTable() string {
	var b strings.Builder
	b.WriteString("| route | what it answers |\n|---|---|\n")
	for _, r := range api.Routes() {
		if r.Method == http.MethodGet && r.Role == protocol.RolePublic {
			fmt.Fprintf(&b, "| `%s` | %s |\n", r.Path, r.Summary)
		}
	}
	return b.String()
}
