package simulated

import (
	"math"
	"strconv"
	"strings"
)

// entry is one item of a Python dictionary with numbers as values.
type entry struct {
	key   string
	value float64
}

// pythonDict writes a dictionary the way Python prints one, which is how the
// trainer logs an optimizer step.
func pythonDict(entries []entry) string {
	items := make([]string, 0, len(entries))
	for _, e := range entries {
		items = append(items, "'"+e.key+"': "+pythonFloat(e.value))
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// pythonFloat writes a number as Python's repr does: always with a point or an
// exponent, the latter below 1e-4 and from 1e16 on.
func pythonFloat(x float64) string {
	switch size := math.Abs(x); {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(x, 'f', -1, 64)), "+")
	case size != 0 && (size < 1e-4 || size >= 1e16):
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
