package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	File    string // slash-separated, from the configuration's root
	Line    int    // from 1; 0 when the problem is not at one place
	Column  int    // from 1; 0 when the problem is not at one place
	Key     string // dotted; empty when it is about the file
	Message string // what is wrong
	Fix     string // what to do; empty when the message says it
}

// String is the problem in one line, starting with file:line:column.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Message)
	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}
	return b.String()
}

// Problems is everything that is wrong with a configuration, as an error. It is
// never empty when it is returned as one.
type Problems []Problem

// Error lists the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err is the problems in order of file, line and column, or nil when there are
// none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	sorted := slices.Clone(ps)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return sorted
}

// suggestion says what was probably meant by word, or which words are known when
// none is near.
func suggestion(word string, known []string) string {
	best, distance := "", 1+max(2, len(word)/3)
	for _, k := range known {
		if d := editDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(known) == 0:
		return ""
	case len(known) > 12:
		return fmt.Sprintf("known are %s and %d more", strings.Join(known[:12], ", "), len(known)-12)
	default:
		return "known are " + strings.Join(known, ", ")
	}
}

// editDistance is the number of letters to insert, delete or replace to turn a
// into b (Levenshtein), on bytes. Words are at most maxWord long; what is longer
// is compared by its beginning.
func editDistance(a, b string) int {
	const maxWord = 64
	a, b = a[:min(len(a), maxWord)], b[:min(len(b), maxWord)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
