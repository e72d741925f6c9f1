package joblog

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Redactor takes sealed task names out of texts before participants see them.
// Each name becomes a pseudonym, "sealed-01" and on in the order of the sorted
// names, so that two texts about one task still agree. A name is found in any
// letter case, with dashes and underscores taken for each other, inside longer
// words and next to other names. A Redactor is safe for concurrent use.
//
// It is an Aho–Corasick automaton: the time to redact a text does not depend on
// the number of names.
type Redactor struct {
	names   []string // folded, sorted, distinct
	classes map[rune]uint16
	ascii   [utf8.RuneSelf]uint16
	width   int     // number of classes; class 0 is every rune that is in no name
	next    []int32 // state × class → state
	ends    []int32 // state → the longest name that ends there, or -1
	runes   []int32 // name → its length in runes
	longest int     // of runes
}

// NewRedactor returns a redactor for a set of names. Empty names are ignored.
func NewRedactor(names []string) *Redactor {
	r := &Redactor{classes: map[rune]uint16{}, width: 1}
	for _, name := range names {
		if name != "" {
			r.names = append(r.names, strings.Map(foldRune, name))
		}
	}
	slices.Sort(r.names)
	r.names = slices.Compact(r.names)
	for _, name := range r.names {
		for _, c := range name {
			if r.classes[c] == 0 {
				r.classes[c] = uint16(r.width)
				r.width++
			}
		}
		n := utf8.RuneCountInString(name)
		r.runes = append(r.runes, int32(n))
		r.longest = max(r.longest, n)
	}
	for c := range r.ascii {
		r.ascii[c] = r.classes[foldRune(rune(c))]
	}
	r.build()
	return r
}

// foldRune maps the runes that a name may be spelled with to one of them.
func foldRune(c rune) rune {
	if c == '_' {
		return '-'
	}
	return unicode.ToLower(c)
}

// build makes the automaton: a trie of the names whose missing edges lead where
// the longest proper suffix of the read text leads.
func (r *Redactor) build() {
	r.grow()
	for i, name := range r.names {
		state := int32(0)
		for _, c := range name {
			edge := int(state)*r.width + int(r.classes[c])
			if r.next[edge] == 0 {
				r.next[edge] = r.grow()
			}
			state = r.next[edge]
		}
		r.ends[state] = int32(i)
	}
	suffix := make([]int32, len(r.ends))
	queue := []int32{0}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		for class := 1; class < r.width; class++ {
			edge := int(state)*r.width + class
			fallback := int32(0)
			if state != 0 {
				fallback = r.next[int(suffix[state])*r.width+class]
			}
			if to := r.next[edge]; to == 0 {
				r.next[edge] = fallback
			} else {
				suffix[to] = fallback
				if r.ends[to] < 0 {
					r.ends[to] = r.ends[fallback]
				}
				queue = append(queue, to)
			}
		}
	}
}

// grow adds a state without edges and returns it.
func (r *Redactor) grow() int32 {
	r.next = append(r.next, make([]int32, r.width)...)
	r.ends = append(r.ends, -1)
	return int32(len(r.ends) - 1)
}

// pseudonym is what the i-th name is replaced by.
func pseudonym(i int) string { return fmt.Sprintf("sealed-%02d", i+1) }

// Contains reports whether a text names a sealed task.
func (r *Redactor) Contains(text string) bool { return r.find(text, func(match) bool { return false }) }

// Redact returns the text with every sealed name replaced. The result contains
// none, in any spelling, not even where a pseudonym and the text around it would
// make one. A text without sealed names is returned as it is.
func (r *Redactor) Redact(text string) string {
	if !r.Contains(text) {
		return text
	}
	text = r.replace(text, pseudonym)
	// Names such as "sealed-0" or "1-x" can match what was just written. Those
	// leave a mark that is part of no sensible name.
	for range 4 {
		if !r.Contains(text) {
			return text
		}
		text = r.replace(text, func(int) string { return "…" })
	}
	if r.Contains(text) {
		return ""
	}
	return text
}

// match is one occurrence of a name: text[start:end].
type match struct {
	name, start, end int
}

// find calls yield for the longest name that ends at each place of the text,
// until it returns false. It reports whether there was any.
func (r *Redactor) find(text string, yield func(match) bool) bool {
	if len(r.names) == 0 {
		return false
	}
	found := false
	starts := make([]int, r.longest) // where the latest runes start
	state := int32(0)
	for i, n := 0, 0; i < len(text); n++ {
		c, size := rune(text[i]), 1
		class := uint16(0)
		if c < utf8.RuneSelf {
			class = r.ascii[c]
		} else {
			c, size = utf8.DecodeRuneInString(text[i:])
			class = r.classes[foldRune(c)]
		}
		starts[n%r.longest] = i
		i += size
		state = r.next[int(state)*r.width+int(class)]
		if name := r.ends[state]; name >= 0 {
			found = true
			first := n + 1 - int(r.runes[name])
			if !yield(match{int(name), starts[first%r.longest], i}) {
				return true
			}
		}
	}
	return found
}

// replace writes the text with its matches replaced. Where matches overlap, the
// one that starts first and is longest gives the name for all that they cover.
func (r *Redactor) replace(text string, by func(name int) string) string {
	var all []match
	r.find(text, func(m match) bool {
		all = append(all, m)
		return true
	})
	slices.SortFunc(all, func(a, b match) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	var out strings.Builder
	done := 0
	for i := 0; i < len(all); {
		m, end := all[i], all[i].end
		for i++; i < len(all) && all[i].start < end; i++ {
			end = max(end, all[i].end)
		}
		out.WriteString(text[done:m.start])
		out.WriteString(by(m.name))
		done = end
	}
	out.WriteString(text[done:])
	return out.String()
}
