package leaderboard

import (
	"math"
	"testing"
)

// Against the printed tables of Student's t and the normal distribution.
func TestQuantiles(t *testing.T) {
	for freedom, want := range map[int]float64{4: 2.7764, 7: 2.3646, 31: 2.0395, 86: 1.9879, 1000: 1.9623} {
		if got := studentT975(freedom); math.Abs(got-want) > 0.003*want {
			t.Errorf("t(0.975; %d) = %.4f, want %.4f", freedom, got, want)
		}
	}
	for x, want := range map[float64]float64{0: 0.5, -1.959964: 0.025, 1: 0.841345} {
		if got := normal(x); math.Abs(got-want) > 1e-6 {
			t.Errorf("Φ(%v) = %v, want %v", x, got, want)
		}
	}
	sorted := []float64{0, 1, 2, 3, 4}
	for q, want := range map[float64]float64{0: 0, 0.5: 2, 0.625: 2.5, 1: 4} {
		if got := quantile(sorted, q); got != want {
			t.Errorf("quantile %v = %v, want %v", q, got, want)
		}
	}
	if got := quantile([]float64{7}, 0.3); got != 7 {
		t.Errorf("the quantile of one value is %v", got)
	}
}
