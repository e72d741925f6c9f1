package configs

import (
	"testing"

	"pgregory.net/rapid"
)

func TestEditDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"listen", "listen", 0},
		{"lisen", "listen", 1},
		{"bugdet", "budget", 2},
		{"kitten", "sitting", 3},
	} {
		if got := editDistance(tt.a, tt.b); got != tt.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestEditDistanceIsADistance(t *testing.T) {
	word := rapid.StringMatching(`[a-d]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		ab := editDistance(a, b)
		switch {
		case ab != editDistance(b, a):
			t.Fatal("not symmetric")
		case (ab == 0) != (a == b):
			t.Fatal("zero for different words, or not for equal ones")
		case editDistance(a, c) > ab+editDistance(b, c):
			t.Fatal("a detour is shorter")
		}
	})
}
