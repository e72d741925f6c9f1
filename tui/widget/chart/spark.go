package chart

import (
	"strings"

	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// Sparkline draws values in one row of exactly width columns, evenly spread. Where
// several share a column, the one farthest from the mean of all is drawn, so that
// no spike is smoothed away. Fewer values than columns take a column each. A column
// without a finite value is blank.
func Sparkline(values []float64, width int, ascii bool) string {
	if width <= 0 {
		return ""
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	if ascii {
		levels = []rune("_.-=+*#@")
	}
	low, high, mean, known := spread(values)
	columns := min(len(values), width)
	var b strings.Builder
	for i := range columns {
		y, ok := farthest(values[i*len(values)/columns:(i+1)*len(values)/columns], mean)
		switch {
		case !ok || !known:
			b.WriteByte(' ')
		case low == high:
			b.WriteRune(levels[len(levels)/2-1])
		default:
			at := share(y, low, high) * float64(len(levels)-1)
			b.WriteRune(levels[int(at+0.5)])
		}
	}
	return b.String() + celltext.Spaces(width-columns)
}

// spread is the range and the mean of the finite values.
func spread(values []float64) (low, high, mean float64, ok bool) {
	n := 0.0
	for _, y := range values {
		if !finite(y) {
			continue
		}
		if !ok {
			low, high, ok = y, y, true
		}
		low, high = min(low, y), max(high, y)
		n++
		mean += y/n - mean/n
	}
	return low, high, mean, ok
}

// farthest is the finite value farthest from the mean, the greater of two.
func farthest(values []float64, mean float64) (best float64, ok bool) {
	away := func(y float64) float64 { return max(y/2-mean/2, mean/2-y/2) } // halved, against overflow
	for _, y := range values {
		if finite(y) && (!ok || away(y) > away(best) || away(y) == away(best) && y > best) {
			best, ok = y, true
		}
	}
	return best, ok
}
