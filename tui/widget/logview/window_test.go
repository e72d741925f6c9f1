package logview

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWindowHoldsItsBounds adds lines at both ends and trims. Whatever is left is
// in order, without a gap, around the line that matters, and within the bounds.
func TestWindowHoldsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w window
		entries := func(first, n int64) []entry {
			lines := make([]entry, n)
			for i := range lines {
				lines[i].text = fmt.Sprint(first + int64(i))
			}
			return lines
		}
		w.set(1_000_000, entries(1_000_000, rapid.Int64Range(1, 50).Draw(t, "lines")))
		near := w.first
		maxLines, maxBytes := rapid.IntRange(1, 200).Draw(t, "max lines"), rapid.IntRange(1, 20_000).Draw(t, "max bytes")
		keep := rapid.Int64Range(0, 30).Draw(t, "keep")
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) { w.append(entries(w.last()+1, rapid.Int64Range(0, 80).Draw(t, "lines"))) },
			"prepend": func(t *rapid.T) {
				n := rapid.Int64Range(0, 80).Draw(t, "lines")
				w.prepend(entries(w.first-n, n))
			},
			"move": func(t *rapid.T) { near = rapid.Int64Range(w.first, w.last()).Draw(t, "near") },
			"": func(t *rapid.T) {
				first, last := max(w.first, near-keep), min(w.last(), near+keep)
				w.trim(near, keep, maxLines, maxBytes)
				if w.first > first || w.last() < last || !w.has(near) {
					t.Fatalf("lines %d to %d must stay, but %d to %d are left", first, last, w.first, w.last())
				}
				if over := len(w.lines) > maxLines || w.bytes > maxBytes; over && int64(len(w.lines)) > 2*keep+1 {
					t.Fatalf("%d lines of %d bytes are left of at most %d and %d", len(w.lines), w.bytes, maxLines, maxBytes)
				}
				if w.bytes != weigh(w.lines) {
					t.Fatalf("%d bytes are counted, there are %d", w.bytes, weigh(w.lines))
				}
				for n := w.first; n <= w.last(); n++ {
					if w.at(n).text != fmt.Sprint(n) {
						t.Fatalf("line %d reads %s", n, w.at(n).text)
					}
				}
			},
		})
	})
}

// TestMatcherAgreesWithLowerCase compares the search without regard to case with
// the slow way.
func TestMatcherAgreesWithLowerCase(t *testing.T) {
	text := rapid.StringMatching(`[aAbBzZ@\[é ]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		s, query := text.Draw(t, "s"), rapid.StringMatching(`[abz@\[ ]{1,3}`).Draw(t, "query")
		q, err := newMatcher(query, false)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Contains(strings.ToLower(s), query)
		if got := q.matches(s); got != want {
			t.Fatalf("%q in %q: %t, want %t", query, s, got, want)
		}
		if got, want := len(q.all(s, 100)), strings.Count(strings.ToLower(s), query); got != want {
			t.Fatalf("%q in %q: %d times, want %d", query, s, got, want)
		}
	})
}
