package pyfacts

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestBranchingIsBounded follows names that branch without end. It ends, and
// what was not followed is unknown.
func TestBranchingIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("p0 = q0 = x\n")
	for i := range 60 {
		fmt.Fprintf(&b, "p%d = p%d if x else q%d\nq%d = q%d + p%d\n", i+1, i, i, i+1, i, i)
	}
	b.WriteString("open(p60)\nassert p60\n")
	facts := collect(t, b.String())
	if len(facts.Paths) != 1 || facts.Paths[0].Exact || len(facts.Assertions) != 1 {
		t.Errorf("got %s", render(facts))
	}
}

// TestManyStatements shows that a file's allowance is not used up by one bad
// statement.
func TestManyStatements(t *testing.T) {
	source := "a = a0 if x else a\n" + strings.Repeat("open(a + a + a)\n", 20) + "open('/last')\n"
	facts := collect(t, source)
	last := facts.Paths[len(facts.Paths)-1]
	if last.Path != "/last" || !last.Exact {
		t.Errorf("the last path is %+v", last)
	}
}

// TestJoinPath checks the properties that every join has.
func TestJoinPath(t *testing.T) {
	segment := rapid.StringMatching(`[a-z]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(segment, 1, 5).Draw(t, "parts")
		parts[0] = "/" + parts[0]
		values := make([]value, len(parts))
		for i, p := range parts {
			values[i] = value{text: p}
		}
		want := strings.Join(parts, "/")
		if got := joinPath(values).text; got != want {
			t.Fatalf("join of %q is %q, want %q", parts, got, want)
		}
		if got := dir(joinPath(append(values, value{text: "x"}))).text; got != want {
			t.Fatalf("the folder of %q is %q", want+"/x", got)
		}
		if got := joinPath(append(values, value{text: "/y"})).text; got != "/y" {
			t.Fatalf("an absolute part gives %q", got)
		}
	})
}

func TestKnownModules(t *testing.T) {
	for _, name := range []string{"os", "zoneinfo", "__future__", "numpy", "pytest", "playwright", "test"} {
		if !isKnownModule(name) {
			t.Errorf("%s is not known", name)
		}
	}
	for _, name := range []string{"", "o", "osx", "helpers", "solution", "os path", "zlib "} {
		if isKnownModule(name) {
			t.Errorf("%q is known", name)
		}
	}
}

func BenchmarkCollect(b *testing.B) {
	source, err := os.ReadFile("../testdata/samples/verifier.py")
	if err != nil {
		b.Fatal(err)
	}
	m := parse(b, string(source))
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		Collect(m, nil)
	}
}
