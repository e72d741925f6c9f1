// Package fuzzy scores how well a few typed letters mean a title: the letters of
// the query must be in the title, in order, and count for more where a reader
// would look for them, at the start of words and side by side.
package fuzzy

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Match is how a query fits a title.
type Match struct {
	Score     int   // the higher the better; comparable for one query only
	Positions []int // indexes of the matched runes in the title, ascending
}

// The weights of a matched letter.
const (
	letter    = 16 // any
	startOf   = 24 // the first of a word, more
	together  = 20 // right after the letter before, more
	sameCase  = 1  // as it was typed, more
	gap       = 1  // less for each letter left out between two, up to
	mostGap   = 12
	longTitle = 4 // less for each so many letters of the title, so that short ones win
)

// The lengths in runes of which no more is looked at, so that a match costs little.
const (
	mostQuery = 32
	mostTitle = 128
)

// Find fits a query to a title. Case does not matter, and words of the query may
// be apart; spaces only separate them. Every title fits an empty query, with a
// score of 0. It returns false when the query does not fit.
func Find(query, title string) (Match, bool) {
	q, original := letters(query)
	t := cut([]rune(title), mostTitle)
	if len(q) == 0 {
		return Match{}, true
	}
	lower := make([]rune, len(t))
	for i, r := range t {
		lower[i] = unicode.ToLower(r)
	}
	if !contains(lower, q) {
		return Match{}, false
	}
	m := best(q, original, lower, t)
	m.Score -= len(t) / longTitle
	return m, true
}

// letters are the runes of a query without spaces, in lower case and as typed.
func letters(query string) (lower, original []rune) {
	for _, r := range query {
		if !unicode.IsSpace(r) && len(lower) < mostQuery {
			lower, original = append(lower, unicode.ToLower(r)), append(original, r)
		}
	}
	return lower, original
}

func cut(rs []rune, n int) []rune { return rs[:min(len(rs), n)] }

// contains reports whether q is in t in order, before anything is scored.
func contains(t, q []rune) bool {
	for _, r := range t {
		if len(q) > 0 && r == q[0] {
			q = q[1:]
		}
	}
	return len(q) == 0
}

// best finds the placement of q in t with the highest score, by the best score of
// each letter of the query at each place of the title.
func best(q, original, lower, t []rune) Match {
	const none = -1 << 30
	score := make([][]int, len(q)) // of q[:i+1] with q[i] at t[j]
	from := make([][]int, len(q))  // where q[i-1] is then
	for i := range q {
		score[i], from[i] = make([]int, len(t)), make([]int, len(t))
		for j := range t {
			score[i][j], from[i][j] = none, -1
			if lower[j] != q[i] {
				continue
			}
			own := letter
			if starts(t, j) {
				own += startOf
			}
			if t[j] == original[i] {
				own += sameCase
			}
			if i == 0 {
				score[i][j] = own - min(j*gap, mostGap)
				continue
			}
			for k := range j {
				if score[i-1][k] == none {
					continue
				}
				s := score[i-1][k] + own
				if k == j-1 {
					s += together
				} else {
					s -= min((j-k-1)*gap, mostGap)
				}
				if s > score[i][j] {
					score[i][j], from[i][j] = s, k
				}
			}
		}
	}
	last := len(q) - 1
	end := 0
	for j := range t {
		if score[last][j] > score[last][end] {
			end = j
		}
	}
	m := Match{Score: score[last][end], Positions: make([]int, len(q))}
	for i, j := last, end; i >= 0; i-- {
		m.Positions[i] = j
		j = from[i][j]
	}
	return m
}

// starts reports whether a word starts at t[j]: at the start of the title, after
// what is no letter or digit, or at a capital after a small letter.
func starts(t []rune, j int) bool {
	if j == 0 {
		return true
	}
	before, here := t[j-1], t[j]
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return word(here) && !word(before) || unicode.IsUpper(here) && unicode.IsLower(before)
}

// Ranked is a title that fits a query.
type Ranked struct {
	Index int // in the titles that were ranked
	Match
}

// Rank returns the titles that fit a query, best first. Titles that fit as well as
// each other keep their order, so that an empty query keeps all as they are.
func Rank(query string, titles []string) []Ranked {
	ranked := make([]Ranked, 0, len(titles))
	for i, title := range titles {
		if m, ok := Find(query, title); ok {
			ranked = append(ranked, Ranked{i, m})
		}
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return ranked
}

// Words splits a text at spaces into its first words, as many as the title has,
// and the rest. It is how an argument is told from the title of a command: the
// title must be typed in full, in any case.
func Words(text, title string) (rest string, ok bool) {
	text = strings.TrimLeft(text, " ")
	for _, word := range strings.Fields(title) {
		head, tail, _ := strings.Cut(text, " ")
		if !strings.EqualFold(head, word) {
			return "", false
		}
		text = strings.TrimLeft(tail, " ")
	}
	return text, true
}
