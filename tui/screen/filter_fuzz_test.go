package screen

import (
	"strings"
	"testing"
	"time"
)

// FuzzFilter reads what somebody types into a filter: it never panics, and a term
// is never both true and false of one row.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{"", "aurora failed", "state:failed !team:x", "age:<2d", "age:>99999999999999d", "(", "!", "!!", "a:b:c", "age:", "state:[", "\xff", "(a*)*b"} {
		f.Add(s, "Aurora failed (RuntimeError)")
	}
	f.Fuzz(func(t *testing.T, text, row string) {
		fields := Fields{Text: row, Named: map[string]string{"state": "failed", "team": row}, Age: 26 * time.Hour, HasAge: true}
		filter := ParseFilter(text, []string{"state", "team"})
		got := filter.Matches(fields)
		if filter.Empty() && !got {
			t.Errorf("%q asks nothing and refuses a row", text)
		}
		words := strings.Fields(text)
		if len(words) != 1 || strings.HasPrefix(words[0], "!") {
			return
		}
		if not := ParseFilter("!"+words[0], []string{"state", "team"}); not.Matches(fields) == got {
			t.Errorf("%q and its opposite agree: %v", text, got)
		}
	})
}
