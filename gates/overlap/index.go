package overlap

import (
	"runtime"
	"sync"
)

// Suite is a sealed suite as decontamination needs it.
type Suite struct {
	ID    string
	Tasks []SealedTask
}

// SealedTask is one task of a sealed suite. Nothing of it may ever reach a participant.
type SealedTask struct {
	Name      string
	Prompt    string
	Evaluated bool // the task is in the evaluated subset of its suite
}

// Index holds suites ready for comparison. It is immutable and may be used from several goroutines.
type Index struct {
	names map[string]bool // folded names of evaluated tasks
	docs  []doc
	grams []uint64 // of all documents, one after the other; sorted and distinct within each
}

type doc struct {
	suite, task int
	evaluated   bool
	end         int // where its grams end; they begin where the previous document's end
}

// NewIndex builds an index of all tasks of the suites.
func NewIndex(suites []Suite) *Index {
	x := &Index{names: map[string]bool{}}
	var prompts []string
	for s, suite := range suites {
		for t, task := range suite.Tasks {
			if task.Evaluated {
				x.names[FoldName(task.Name)] = true
			}
			x.docs = append(x.docs, doc{suite: s, task: t, evaluated: task.Evaluated})
			prompts = append(prompts, task.Prompt)
		}
	}
	sets := gramSets(prompts)
	total := 0
	for _, set := range sets {
		total += len(set)
	}
	x.grams = make([]uint64, 0, total)
	for i, set := range sets {
		x.grams = append(x.grams, set...)
		x.docs[i].end = len(x.grams)
	}
	return x
}

// gramSets computes the grams of many texts, in blocks shared out to the processors.
func gramSets(texts []string) [][]uint64 {
	sets := make([][]uint64, len(texts))
	const block = 256
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (len(texts)+block-1)/block) {
		workers.Go(func() {
			for from := range next {
				to := min(from+block, len(texts))
				bytes := 0
				for _, text := range texts[from:to] {
					bytes += len(text)
				}
				// One backing array a block, sized for words of five letters and a blank.
				all := make([]uint64, 0, bytes/6)
				ends := make([]int, 0, block)
				for _, text := range texts[from:to] {
					all = grams(all, text)
					ends = append(ends, len(all))
				}
				begin := 0
				for i, end := range ends {
					sets[from+i] = all[begin:end:end]
					begin = end
				}
			}
		})
	}
	for from := 0; from < len(texts); from += block {
		next <- from
	}
	close(next)
	workers.Wait()
	return sets
}

// HasName reports whether an evaluated sealed task has this name, up to case and - or _.
func (x *Index) HasName(name string) bool { return x.names[FoldName(name)] }

// Match is what one prompt shares with one indexed task. Suite and Task are positions in the suites the index was
// made of.
type Match struct {
	Suite, Task int
	Evaluated   bool
	Shared      int     // grams in both; at least 1
	Containment float64 // Shared divided by the smaller of both sets
}

// Compare calls visit for every pair of a prompt (by its position) and an indexed task that share a gram, in the
// order of the indexed tasks.
func (x *Index) Compare(prompts []string, visit func(prompt int, m Match)) {
	if len(x.docs) == 0 {
		return
	}
	sets := gramSets(prompts)
	table := newLookup(sets)
	counts := make([]int, len(prompts))
	var touched []int
	begin := 0
	for _, d := range x.docs {
		for _, gram := range x.grams[begin:d.end] {
			if !table.maybe(gram) {
				continue
			}
			for i := table.first[gram]; i > 0; i = table.entries[i].next {
				p := table.entries[i].prompt
				if counts[p] == 0 {
					touched = append(touched, p)
				}
				counts[p]++
			}
		}
		for _, p := range touched {
			smaller := min(len(sets[p]), d.end-begin)
			visit(p, Match{d.suite, d.task, d.evaluated, counts[p], float64(counts[p]) / float64(smaller)})
			counts[p] = 0
		}
		touched = touched[:0]
		begin = d.end
	}
}

// lookup finds the prompts that hold a gram. Nearly all questions have the answer none, so a bit set in front of the
// map answers them without leaving the processor's cache.
type lookup struct {
	bits    []uint64
	shift   uint
	first   map[uint64]int // gram → position in entries; 0 for none
	entries []lookupEntry  // entry 0 is not used
}

// lookupEntry is one prompt of a gram; next is the position of another one, 0 at the end.
type lookupEntry struct{ prompt, next int }

func newLookup(sets [][]uint64) lookup {
	total := 0
	for _, set := range sets {
		total += len(set)
	}
	// About 32 bits a gram, at least 64 and at most 2^24 in all: a false yes is rare and the set stays small.
	size := uint(6)
	for size < 24 && 1<<size < 32*total {
		size++
	}
	l := lookup{
		bits: make([]uint64, 1<<(size-6)), shift: 64 - size,
		first: make(map[uint64]int, total), entries: make([]lookupEntry, 1, total+1),
	}
	for p, set := range sets {
		for _, gram := range set {
			bit := gram >> l.shift
			l.bits[bit>>6] |= 1 << (bit & 63)
			l.entries = append(l.entries, lookupEntry{p, l.first[gram]})
			l.first[gram] = len(l.entries) - 1
		}
	}
	return l
}

func (l lookup) maybe(gram uint64) bool {
	bit := gram >> l.shift
	return l.bits[bit>>6]&(1<<(bit&63)) != 0
}
