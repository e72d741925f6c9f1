package simulated

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// chance is a stream of random draws that belongs to one purpose, so that a
// change in one part of a play leaves every other part as it was.
type chance struct{ *rand.Rand }

// newChance opens the stream that a seed and a purpose name.
func newChance(seed uint64, purpose ...string) chance {
	sum := hash(seed, purpose...)
	return chance{rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])))}
}

// hash is SHA-256 over a seed and some strings. None of them holds a NUL.
func hash(seed uint64, parts ...string) [sha256.Size]byte {
	text := binary.BigEndian.AppendUint64(nil, seed)
	return sha256.Sum256(append(text, strings.Join(parts, "\x00")...))
}

// within draws a number between lo and hi.
func (c chance) within(lo, hi float64) float64 { return lo + c.Float64()*(hi-lo) }

// count draws a whole number from lo to hi, both included.
func (c chance) count(lo, hi int) int { return lo + c.IntN(max(1, hi-lo+1)) }

// hits is true with probability p.
func (c chance) hits(p float64) bool { return c.Float64() < p }

// seconds draws a duration between lo and hi seconds.
func (c chance) seconds(lo, hi float64) time.Duration { return span(c.within(lo, hi), time.Second) }

// minutes draws a duration between lo and hi minutes.
func (c chance) minutes(lo, hi float64) time.Duration { return span(c.within(lo, hi), time.Minute) }

// gauss draws from a normal distribution.
func (c chance) gauss(mean, sd float64) float64 { return mean + sd*c.NormFloat64() }

// pick draws one of several texts.
func (c chance) pick(texts []string) string { return texts[c.IntN(len(texts))] }

// span is n units of time, to the millisecond.
func span(n float64, unit time.Duration) time.Duration {
	return time.Duration(n * float64(unit)).Round(time.Millisecond)
}

// round rounds x to a number of decimal places.
func round(x float64, places int) float64 {
	scale := math.Pow10(places)
	return math.Round(x*scale) / scale
}

// unsolvable is the share of training tasks that the untrained model never
// solves (seed 000, solve_rate).
const unsolvable = 0.45

// SolveRates returns, for every training task of a collection, the untrained
// model's chance to solve it in one attempt: 0 for about 45% of the tasks, else
// between 0.15 and 0.95. A rate is fixed for a seed, revision and task, so that
// the gate and the rollouts of every run agree. When the draw leaves a
// collection with nothing to solve, the rate of one of its tasks is drawn from
// the range above.
func SolveRates(seed uint64, revision string, tasks []string) map[string]float64 {
	rates := make(map[string]float64, len(tasks))
	solvable := false
	for _, task := range tasks {
		c := newChance(seed, "rate", revision, task)
		if !c.hits(unsolvable) {
			rates[task] = c.within(0.15, 0.95)
			solvable = true
		} else {
			rates[task] = 0
		}
	}
	if !solvable && len(tasks) > 0 {
		c := newChance(seed, "rescue", revision)
		rates[tasks[c.IntN(len(tasks))]] = c.within(0.15, 0.95)
	}
	return rates
}
