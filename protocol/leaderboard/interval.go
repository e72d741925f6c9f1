package leaderboard

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/protocol"
)

// interval returns the 95% interval of the mean Δ around it, in percentage points:
// a bootstrap over tasks, paired because each task is taken with both its sides
// and with its outcomes in every run. ok is false when the results hold fewer than
// two tasks or resamples is not positive.
//
// The percentile interval of a bootstrap is too narrow for small samples: it takes
// the spread of n tasks for that of the population, and ignores that the spread
// itself is estimated. The percentiles are moved outwards by as much as an
// interval of Student's t would be wider than the normal one (T. Hesterberg, What
// Teachers Should Know About the Bootstrap, 2015).
func interval(random *rand.PCG, runs []protocol.Result, resamples int) (low, high float64, ok bool) {
	effects := influence(runs)
	n := len(effects)
	if n < 2 || resamples <= 0 {
		return 0, 0, false
	}
	means := make([]float64, resamples)
	for i := range means {
		means[i] = resample(random, effects) / float64(n)
	}
	slices.Sort(means)
	tail := normal(-math.Sqrt(float64(n)/float64(n-1)) * studentT975(n-1))
	return 100 * quantile(means, tail), 100 * quantile(means, 1-tail), true
}

// resample sums as many effects as there are, drawn with replacement. One random
// word serves two draws; the bias of scaling 32 bits to n is below n ÷ 2³².
func resample(random *rand.PCG, effects []float64) float64 {
	n := uint64(len(effects))
	sum := 0.0
	for i := uint64(0); i < n; i += 2 {
		word := random.Uint64()
		sum += effects[(word&math.MaxUint32)*n>>32]
		if i+1 < n {
			sum += effects[(word>>32)*n>>32]
		}
	}
	return sum
}

// influence returns what each task contributes to the mean Δ of the runs beyond
// the mean, as a share: the sum over any resample of tasks, divided by their
// number, is how far the mean moves. With one outcome a task and side that is
// exact; where errored cells were left out it is the linear approximation.
func influence(runs []protocol.Result) []float64 {
	type task struct{ suite, name string }
	type sums struct{ difference, cells float64 }
	perRun := make([]map[task]sums, 0, len(runs))
	tasks := map[task]float64{}
	for _, r := range runs {
		pooled := r.Score.Trials > 1 || len(r.Score.Suites) > 0
		own := map[task]sums{}
		for _, c := range r.Cells {
			key := task{c.Suite, c.Task}
			tasks[key] = 0
			if pooled && (c.Before == protocol.OutcomeError || c.After == protocol.OutcomeError) {
				continue
			}
			s := own[key]
			own[key] = sums{s.difference + passed(c.After) - passed(c.Before), s.cells + 1}
		}
		perRun = append(perRun, own)
	}
	order := make([]task, 0, len(tasks))
	for t := range tasks {
		order = append(order, t)
	}
	slices.SortFunc(order, func(a, b task) int {
		return cmp.Or(strings.Compare(a.suite, b.suite), strings.Compare(a.name, b.name))
	})
	effects := make([]float64, len(order))
	for _, own := range perRun {
		var all sums
		for _, t := range order {
			all.difference, all.cells = all.difference+own[t].difference, all.cells+own[t].cells
		}
		if all.cells == 0 {
			return nil // a run whose cells are not at hand
		}
		mean := all.difference / all.cells
		for i, t := range order {
			effects[i] += (own[t].difference - mean*own[t].cells) * float64(len(order)) / all.cells / float64(len(runs))
		}
	}
	return effects
}

func passed(o protocol.Outcome) float64 {
	if o.Passed() {
		return 1
	}
	return 0
}

// quantile interpolates the q-quantile of sorted values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-2)
	if i < 0 {
		return sorted[0]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// normal is the standard normal distribution function.
func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// studentT975 is the 0.975 quantile of Student's t distribution, by the expansion
// of Cornish and Fisher around the normal quantile: within 0.3% from 4 degrees of
// freedom on. Below that the interval takes nearly all resamples anyway.
func studentT975(freedom int) float64 {
	const z = z95
	v := float64(freedom)
	return z + (z*z*z+z)/(4*v) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*v*v) +
		(3*math.Pow(z, 7)+19*math.Pow(z, 5)+17*z*z*z-15*z)/(384*v*v*v)
}

// seed makes the random source of a row: the same challenge, collection and runs
// always give the same interval.
func seed(challenge, collection string, runs []string) *rand.PCG {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{challenge, collection}, runs...), "\x00")))
	return rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16]))
}
