package arena

import "slices"

// window remembers which lines of a job's log were taken, so that a line that
// comes twice is dropped and one that comes late is not: a provider's stream may
// deliver chunks again or in another order after a reconnect (PROTOCOL §9).
type window struct {
	Floor int64   `json:"floor"` // every position up to here counts as taken
	Taken []int64 `json:"taken"` // taken positions above it, in order
}

// windowSize is how many positions are told apart. A line that comes later than
// this many lines after its turn is lost.
const windowSize = 256

// has reports whether the line at a position was taken.
func (w *window) has(position int64) bool {
	_, taken := slices.BinarySearch(w.Taken, position)
	return taken || position <= w.Floor
}

// add takes the line at a position.
func (w *window) add(position int64) {
	at, taken := slices.BinarySearch(w.Taken, position)
	if taken || position <= w.Floor {
		return
	}
	w.Taken = slices.Insert(w.Taken, at, position)
	if over := len(w.Taken) - windowSize; over > 0 {
		w.Floor = w.Taken[over-1]
		w.Taken = slices.Delete(w.Taken, 0, over)
	}
}

// last is the largest position taken.
func (w *window) last() int64 {
	if n := len(w.Taken); n > 0 {
		return w.Taken[n-1]
	}
	return w.Floor
}
