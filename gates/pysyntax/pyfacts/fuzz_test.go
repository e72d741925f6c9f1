package pyfacts

import (
	"strings"
	"testing"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

// FuzzCollect checks that Collect ends without a panic on whatever parses, that
// what it calls exact has no unknown part, and that its answer does not change.
func FuzzCollect(f *testing.F) {
	f.Add([]byte("def test_a(x):\n    assert open(x).read() == 'a'\ntest_a('/b')\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := pysyntax.Parse(src, pysyntax.Options{MaxBytes: 1 << 16})
		if err != nil {
			return
		}
		facts := Collect(m, nil)
		for _, use := range facts.Paths {
			if use.Exact && strings.Contains(use.Path, Unknown) && !strings.Contains(m.Text, Unknown) {
				t.Fatalf("%q is called exact", use.Path)
			}
		}
		if first, second := render(facts), render(Collect(m, nil)); first != second {
			t.Fatalf("two answers:\n%s\n%s", first, second)
		}
	})
}
