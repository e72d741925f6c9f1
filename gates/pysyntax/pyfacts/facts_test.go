package pyfacts

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

const casesFile = "testdata/facts.txt"

// render writes facts one a line, in the words of the cases file.
func render(f *Facts) string {
	var b strings.Builder
	for _, t := range f.Tests {
		fmt.Fprintf(&b, "test %s", t.In)
		if t.Asserts {
			b.WriteString(" asserts")
		}
		if t.Helper != "" {
			fmt.Fprintf(&b, " through %s", t.Helper)
		}
		if t.Unresolved != nil {
			fmt.Fprintf(&b, " and calls %s", strings.Join(t.Unresolved, ", "))
		}
		b.WriteString("\n")
	}
	for _, a := range f.Assertions {
		fmt.Fprintf(&b, "assertion %d %s%s%s%s\n", a.Line, a.Kind, in(a.Place), mark(a.Conditional, "conditional"), mark(a.Swallowed, "swallowed"))
	}
	for _, s := range f.Skips {
		fmt.Fprintf(&b, "skip %d %s%s%s\n", s.Line, s.Kind, in(s.Place), mark(s.Conditional, "conditional"))
	}
	for _, p := range f.Paths {
		env := ""
		if p.Env != "" {
			env = " unless $" + p.Env
		}
		fmt.Fprintf(&b, "path %d %s %s by %s%s%s\n", p.Line, p.Access, p.Path, p.Via, env, mark(!p.Exact, "inexact"))
	}
	for _, i := range f.Imports {
		if i.Name != "" {
			fmt.Fprintf(&b, "import %s from %s\n", i.Name, i.Module)
		}
	}
	for _, c := range f.Commands {
		fmt.Fprintf(&b, "command %d %s %q%s%s\n", c.Line, c.Via, c.Args, mark(c.Shell, "shell"), mark(c.Checked, "checked"))
	}
	for _, c := range f.Chance {
		fmt.Fprintf(&b, "chance %d %s %s%s\n", c.Line, c.Kind, c.Via, mark(c.Judged, "judged"))
	}
	for _, n := range f.Network {
		fmt.Fprintf(&b, "network %d %s %s%s\n", n.Line, n.Via, n.Target, mark(n.Local, "local"))
	}
	return b.String()
}

func in(p Place) string {
	if p.In == "" {
		return ""
	}
	return " in " + p.In
}

func mark(set bool, word string) string {
	if set {
		return ", " + word
	}
	return ""
}

func collect(t testing.TB, source string) *Facts {
	t.Helper()
	return Collect(parse(t, source), nil)
}

func parse(t testing.TB, source string) *pysyntax.Module {
	t.Helper()
	m, err := pysyntax.Parse([]byte(source), pysyntax.Options{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, source)
	}
	return m
}

// TestFacts runs the cases of testdata/facts.txt: ARENA_UPDATE=1 rewrites the
// answers.
func TestFacts(t *testing.T) {
	data, err := os.ReadFile(casesFile)
	if err != nil {
		t.Fatal(err)
	}
	preamble, rest, _ := strings.Cut(string(data), "=== ")
	var updated strings.Builder
	updated.WriteString(preamble)
	for _, block := range strings.Split(rest, "\n=== ") {
		name, body, _ := strings.Cut(block, "\n")
		source, want, _ := strings.Cut(body+"\n", "\n---\n")
		t.Run(name, func(t *testing.T) {
			got := render(collect(t, source+"\n"))
			fmt.Fprintf(&updated, "=== %s\n%s\n---\n%s", name, source, got)
			if os.Getenv("ARENA_UPDATE") == "" && strings.TrimSpace(got) != strings.TrimSpace(want) {
				t.Errorf("source:\n%s\n\ngot:\n%s\nwant:\n%s", source, got, want)
			}
		})
	}
	if os.Getenv("ARENA_UPDATE") != "" {
		if err := os.WriteFile(casesFile, []byte(strings.TrimSuffix(updated.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestImports(t *testing.T) {
	facts := collect(t, "import os.path, json as j\nfrom ..a import b as c\ndef f():\n    from . import d\n")
	want := []Import{
		{Place{pysyntax.Position{Line: 1, Column: 8}, ""}, "os.path", ""},
		{Place{pysyntax.Position{Line: 1, Column: 17}, ""}, "json", ""},
		{Place{pysyntax.Position{Line: 2, Column: 17}, ""}, "..a", "b"},
		{Place{pysyntax.Position{Line: 4, Column: 19}, "f"}, ".", "d"},
	}
	if !slices.Equal(facts.Imports, want) {
		t.Errorf("got  %+v\nwant %+v", facts.Imports, want)
	}
}
