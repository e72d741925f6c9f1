package interval

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// scale maps numbers to cells.
type scale struct{ low, high float64 }

// scaleOf spans all means and intervals and zero. Without any number it spans
// −1 to 1.
func scaleOf(rows []Row) scale {
	var s scale
	for _, r := range rows {
		if !r.Known() {
			continue
		}
		s.low, s.high = min(s.low, r.Mean), max(s.high, r.Mean)
		if r.Bounded() {
			s.low, s.high = min(s.low, r.Low), max(s.high, r.High)
		}
	}
	if s.low == s.high {
		return scale{-1, 1}
	}
	return s
}

// cell is the cell of width cells in which x lies.
func (s scale) cell(x float64, width int) int {
	// Halved, so that a span as wide as the numbers can be does not overflow.
	at := (x/2 - s.low/2) / (s.high/2 - s.low/2) * float64(width-1)
	return min(max(int(math.Round(at)), 0), width-1)
}

// label writes a number of the axis with its sign, to a hundredth of the span.
func (s scale) label(x float64) string {
	text := strconv.FormatFloat(x, 'g', 3, 64)
	if span := 2 * (s.high/2 - s.low/2); span > 1e-3 && span < 1e5 {
		text = strconv.FormatFloat(x, 'f', max(0, 2-int(math.Floor(math.Log10(span)))), 64)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
	}
	if x > 0 {
		return "+" + text
	}
	return text
}

// Span is a bracket: rows First to Last cannot be told apart. Brackets that
// overlap stand in different lanes, 0 being the one farthest from the rows.
type Span struct {
	First, Last int
	Lane        int
}

// Ties finds the brackets of rows that are ordered by their means: the longest
// runs of neighbours in which every interval overlaps every other. A row without
// an interval is in none, and ends a run.
func Ties(rows []Row) []Span {
	var spans []Span
	for first := range rows {
		// Intervals on a line overlap pairwise when all share a point.
		low, high, last := math.Inf(-1), math.Inf(1), first-1
		for _, r := range rows[first:] {
			low, high = max(low, r.Low), min(high, r.High)
			if !r.Bounded() || low > high {
				break
			}
			last++
		}
		covered := len(spans) > 0 && spans[len(spans)-1].Last >= last
		if last > first && !covered {
			spans = append(spans, Span{First: first, Last: last})
		}
	}
	assignLanes(spans)
	return spans
}

// assignLanes gives each bracket, in the order of their first rows, the first lane
// that is free there.
func assignLanes(spans []Span) {
	var ends []int // per lane, the last row that is taken
	for i := range spans {
		lane := slices.IndexFunc(ends, func(end int) bool { return end < spans[i].First })
		if lane < 0 {
			lane = len(ends)
			ends = append(ends, 0)
		}
		spans[i].Lane = lane
		ends[lane] = spans[i].Last
	}
}
