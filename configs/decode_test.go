package configs

import (
	"reflect"
	"strings"
	"testing"
)

// FuzzDecode holds the decoder to three promises: it never panics, it reads the
// same thing twice, and every place that it names is inside the file.
func FuzzDecode(f *testing.F) {
	f.Add("[server]\nlisten = 1\n")
	f.Add("[flavors.x]\ngpus = 1\nprice_per_hour = 1e400\n")
	f.Fuzz(func(t *testing.T, text string) {
		arena, origin, problems := decode("arena.toml", []byte(text), Arena{})
		again, _, same := decode("arena.toml", []byte(text), Arena{})
		if len(problems) != len(same) || !reflect.DeepEqual(arena.Server, again.Server) || arena.Budget != again.Budget {
			t.Errorf("read twice: %v and %v", problems, same)
		}
		lines := strings.Count(text, "\n") + 1
		for _, p := range problems {
			if p.Message == "" || p.Line < 0 || p.Line > lines || (p.Line > 0) != (p.Column > 0) {
				t.Errorf("problem %+v of a file of %d lines", p, lines)
			}
		}
		for key, at := range origin.keys {
			if at.line < 1 || at.line > lines || at.column < 1 {
				t.Errorf("key %q at %v of a file of %d lines", key, at, lines)
			}
		}
	})
}
