package tui_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/tui/screen"
)

// The marks in the README between which all keys stand.
const (
	keysBegin = "<!-- keys: written by ARENA_UPDATE=1 go test ./tui -run TestReadme -->\n"
	keysEnd   = "<!-- end of keys -->\n"
)

// allKeys are the key table as the README shows it, a table a place.
func allKeys() string {
	var b strings.Builder
	scope := screen.Scope("")
	for _, row := range screen.Bindings() {
		if len(row.Keys) == 0 {
			continue
		}
		if row.Scope != scope {
			scope = row.Scope
			fmt.Fprintf(&b, "\n%s\n\n", strings.ToUpper(string(scope[:1]))+string(scope[1:]))
		}
		names := make([]string, len(row.Keys))
		for i, k := range row.Keys {
			names[i] = "`" + screen.KeyName(k) + "`"
		}
		who := map[screen.Need]string{screen.Writer: " (signed in)", screen.Editor: " (editors)"}[row.Need]
		fmt.Fprintf(&b, "- %s %s%s\n", strings.Join(names, " "), row.Help, who)
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// The README lists every key, as the table has it.
func TestReadmeListsEveryKey(t *testing.T) {
	const path = "../README.md"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), keysBegin)
	listed, after, closed := strings.Cut(rest, keysEnd)
	if !ok || !closed {
		t.Fatalf("%s has no part for the keys", path)
	}
	want := "\n" + allKeys() + "\n"
	if os.Getenv("ARENA_UPDATE") == "1" {
		if err := os.WriteFile(path, []byte(before+keysBegin+want+keysEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(listed, "\n")); diff != "" {
		t.Errorf("the keys of the README are out of date (-want +got; ARENA_UPDATE=1 writes them):\n%s", diff)
	}
}
