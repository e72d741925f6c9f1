package logview

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxQuery is the longest query in bytes.
const maxQuery = 1 << 10

// matcher finds a query in lines.
type matcher struct {
	text string         // lower case when fold is set; empty when there is an expression
	fold bool           // upper and lower case are the same
	re   *regexp.Regexp // for what plain text cannot do
}

// newMatcher reads a query. Unless it has an upper-case letter, case does not
// matter.
func newMatcher(query string, regex bool) (*matcher, error) {
	if query == "" || len(query) > maxQuery {
		return nil, fmt.Errorf("search: a query has 1 to %d bytes, this has %d", maxQuery, len(query))
	}
	fold := !strings.ContainsFunc(query, unicode.IsUpper)
	if !regex && (!fold || ascii(query)) {
		return &matcher{text: query, fold: fold}, nil
	}
	if !regex {
		query = regexp.QuoteMeta(query)
	}
	if fold {
		query = "(?i)" + query
	}
	re, err := regexp.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return &matcher{re: re}, nil
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// matches reports whether a line has the query.
func (q *matcher) matches(s string) bool {
	switch {
	case q.re != nil:
		return q.re.MatchString(s)
	case q.fold:
		return indexFold(s, q.text) >= 0
	default:
		return strings.Contains(s, q.text)
	}
}

// all returns where the query is in a line, at most limit times, without those
// that are empty.
func (q *matcher) all(s string, limit int) (found [][2]int) {
	if q.re != nil {
		for _, m := range q.re.FindAllStringIndex(s, limit) {
			if m[0] < m[1] {
				found = append(found, [2]int{m[0], m[1]})
			}
		}
		return found
	}
	for from := 0; len(found) < limit; {
		i := strings.Index(s[from:], q.text)
		if q.fold {
			i = indexFold(s[from:], q.text)
		}
		if i < 0 {
			break
		}
		found = append(found, [2]int{from + i, from + i + len(q.text)})
		from += i + len(q.text)
	}
	return found
}

// cost is how much of a piece of work looking at a line is: as many units as the
// text has bytes, and ten times that for an expression.
func (q *matcher) cost(s string) int {
	if q.re != nil {
		return 10 * (len(s) + 64)
	}
	return len(s) + 64
}

// indexFold is strings.Index without regard to the case of ASCII letters; text is
// ASCII in lower case and not empty.
func indexFold(s, text string) int {
	first := text[0]
	for i := 0; i+len(text) <= len(s); i++ {
		if lower(s[i]) == first && equalFold(s[i+1:i+len(text)], text[1:]) {
			return i
		}
	}
	return -1
}

func equalFold(s, text string) bool {
	for i := range len(text) {
		if lower(s[i]) != text[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c-'A' <= 'Z'-'A' {
		return c + ('a' - 'A')
	}
	return c
}
