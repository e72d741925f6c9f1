package gates

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/posttrainarena/arena/gates/overlap"
	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

// Options are the arena's choices that a report depends on.
type Options struct {
	RequireOracle bool          // exclude tasks without a working reference solution, as gates-v1 did
	Defaults      task.Defaults // the collection's license and origin for tasks that leave them out
	Workers       int           // tasks that are checked at a time; 0 means one for each processor. It changes no report.
}

// maxRepeats bounds the findings of one code in one task; the last one says how many more there are.
const maxRepeats = 25

// Report runs every gate over the packages of one collection. It is pure: the same packages, suites and options give
// the same report, whatever their order. Packages must have distinct names, as those of one collection do.
func Report(pkgs []task.Package, suites []overlap.Suite, opts Options) report.Report {
	return Against(pkgs, overlap.NewIndex(suites), opts)
}

// Against is Report for a caller that keeps the index of the sealed suites.
func Against(pkgs []task.Package, sealed *overlap.Index, opts Options) report.Report {
	b := newBatch(pkgs, sealed, opts.Workers)
	found := make([][]report.Finding, len(b.subjects))
	share(opts.Workers, len(b.subjects), func(i int) { found[i] = b.check(b.subjects[i]) })
	r := report.Report{
		GateSet:       GateSet,
		Version:       Version,
		PolicyDigest:  PolicyDigest(opts),
		RequireOracle: opts.RequireOracle,
		Findings:      slices.Concat(found...),
		TaskIdentity:  map[string]report.Identity{},
	}
	for _, s := range b.subjects {
		r.TaskIdentity[s.Name] = s.Credit.With(opts.Defaults).Identity(s.hash)
	}
	r.CreditWarnings = creditWarnings(b.subjects, opts.Defaults)
	r.Tally()
	return r
}

// PolicyDigest identifies what decides about a task: "sha256:" over the gate set, its version, every code with its
// severity, and the options that change which tasks are eligible.
func PolicyDigest(opts Options) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s\nrequire_oracle %t\n", GateSet, Version, opts.RequireOracle)
	for _, rule := range Catalogue() {
		fmt.Fprintf(h, "%s %s\n", rule.Severity, rule.Code)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// batch is the collection as the rules see it: the packages, and what only a look at all of them together can tell.
type batch struct {
	rules    map[string]report.Rule
	sealed   *overlap.Index
	subjects []*subject // sorted by name
	hits     []sealedHits
	twins    []*twin // by position; nil for a task that duplicates no earlier one
}

func newBatch(pkgs []task.Package, sealed *overlap.Index, workers int) *batch {
	b := &batch{rules: map[string]report.Rule{}, sealed: sealed, subjects: make([]*subject, len(pkgs))}
	for _, rule := range Catalogue() {
		b.rules[rule.Code] = rule
	}
	for i := range pkgs {
		b.subjects[i] = &subject{Package: &pkgs[i], rules: b.rules, leaked: map[string]bool{}}
	}
	share(workers, len(b.subjects), func(i int) { b.subjects[i].hash = b.subjects[i].ContentHash() })
	slices.SortStableFunc(b.subjects, func(x, y *subject) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.hash, y.hash))
	})
	prompts := make([]string, len(pkgs))
	for i, s := range b.subjects {
		s.index = i
		prompts[i] = s.Prompt
	}
	b.hits = sealedOverlaps(sealed, prompts)
	b.twins = findTwins(b.subjects, prompts)
	return b
}

// check runs the table of rules over one package.
func (b *batch) check(s *subject) []report.Finding {
	var found []report.Finding
	for _, rule := range rules() {
		found = append(found, rule(b, s)...)
		runtime.Gosched() // gates can wait, and whoever asks a server how a run stands should not
	}
	return capRepeats(found)
}

// capRepeats keeps the first maxRepeats findings of each code.
func capRepeats(found []report.Finding) []report.Finding {
	count := map[string]int{}
	last := map[string]int{}
	kept := found[:0]
	for _, f := range found {
		if count[f.Code]++; count[f.Code] <= maxRepeats {
			last[f.Code] = len(kept)
			kept = append(kept, f)
		}
	}
	for code, n := range count {
		if n > maxRepeats {
			kept[last[code]].Message += fmt.Sprintf(" (and %d more like this in the task)", n-maxRepeats)
		}
	}
	return kept
}

// share runs do for 0 … n−1 by so many workers, 0 for one on each processor, and returns when every call has.
func share(most, n int, do func(int)) {
	if most <= 0 {
		most = runtime.GOMAXPROCS(0)
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, most) {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}
