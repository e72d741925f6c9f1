// Package widgettest holds what the tests of widgets share: golden files, exact
// sizes and a renderer that draws the same styles on every machine.
package widgettest

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/muesli/termenv"
)

// Style returns a style for styled goldens: 16 colours on a dark background,
// whatever the environment says.
func Style() lipgloss.Style {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	r.SetHasDarkBackground(true)
	return r.NewStyle()
}

// Colour returns a style with one of the 16 colours, such as "1" for red.
func Colour(c string) lipgloss.Style { return Style().Foreground(lipgloss.Color(c)) }

// Golden compares a view with testdata/<name of the test>.golden, which is
// rewritten when ARENA_UPDATE is 1. In the file every row stands between bars, so
// that spaces at its end are seen, and the escape character is shown as ␛.
func Golden(t *testing.T, view string) {
	t.Helper()
	got := "|" + strings.ReplaceAll(strings.ReplaceAll(view, "\x1b", "␛"), "\n", "|\n|") + "|\n"
	path := filepath.Join("testdata", filepath.FromSlash(t.Name())+".golden")
	if os.Getenv("ARENA_UPDATE") == "1" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; ARENA_UPDATE=1 writes it", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; ARENA_UPDATE=1 accepts):\n%s", path, diff)
	}
}

// Fataler is what Exact needs of a test; rapid's and testing's both are.
type Fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Exact fails the test unless the view has exactly height rows of width columns,
// as the renderer counts them.
func Exact(t Fataler, view string, width, height int) {
	t.Helper()
	if width <= 0 || height <= 0 {
		if view != "" {
			t.Fatalf("a view of %d×%d cells is %q, want nothing", width, height, view)
		}
		return
	}
	rows := strings.Split(view, "\n")
	if len(rows) != height {
		t.Fatalf("%d rows, want %d:\n%s", len(rows), height, view)
	}
	for i, r := range rows {
		if got := ansi.StringWidth(r); got != width {
			t.Fatalf("row %d has %d columns, want %d: %q\n%s", i, got, width, r, view)
		}
	}
}

// ASCIIOnly fails the test when the view, without its styles, holds anything
// beyond printable ASCII.
func ASCIIOnly(t Fataler, view string) {
	t.Helper()
	for _, r := range ansi.Strip(view) {
		if r != '\n' && (r < ' ' || r > '~') {
			t.Fatalf("%q is not ASCII in:\n%s", r, view)
		}
	}
}
