package arena

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestWindowTakesEachLineOnce delivers lines in any order and any number of
// times, as long as none is later than the window is wide: each is taken exactly
// once.
func TestWindowTakesEachLineOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var positions []int64 // strictly growing, with gaps
		next := int64(0)
		for range rapid.IntRange(1, 3*windowSize).Draw(t, "lines") {
			next += rapid.Int64Range(1, 5).Draw(t, "gap")
			positions = append(positions, next)
		}
		// A line moves by less than the window; then some come again.
		delivery := slices.Clone(positions)
		for i := range delivery {
			j := min(len(delivery)-1, i+rapid.IntRange(0, 20).Draw(t, "late"))
			delivery[i], delivery[j] = delivery[j], delivery[i]
		}
		for range rapid.IntRange(0, 50).Draw(t, "repeats") {
			i := rapid.IntRange(0, len(delivery)-1).Draw(t, "which")
			j := rapid.IntRange(i, len(delivery)).Draw(t, "where")
			delivery = slices.Insert(delivery, j, delivery[i])
		}

		var w window
		var taken []int64
		for _, p := range delivery {
			if !w.has(p) {
				taken = append(taken, p)
			}
			w.add(p)
			if len(w.Taken) > windowSize || !slices.IsSorted(w.Taken) || w.last() < p {
				t.Fatalf("after %d the window is %+v", p, w)
			}
		}
		slices.Sort(taken)
		if !slices.Equal(taken, positions) {
			t.Fatalf("took %v\nof   %v", taken, positions)
		}
	})
}
