package screen

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Fields is what a filter can ask of one row. Text is everything that a word
// without a field is looked for in.
type Fields struct {
	Text   string
	Named  map[string]string // such as state → failed
	Age    time.Duration
	HasAge bool
}

// folded is the row in lower case, so that each letter of a filter does not do it
// again. The row is used up by it.
func (f Fields) folded() Fields {
	for k, v := range f.Named {
		f.Named[k] = strings.ToLower(v)
	}
	f.Text = strings.ToLower(f.Text)
	return f
}

// Filtering is a filter as it was typed, ready to be asked. Terms are separated
// by spaces and must all hold:
//
//	aurora           a word or regular expression somewhere in the row
//	/e0+1/           the same between slashes
//	state:failed     in one field
//	age:<2d          younger than two days; also age:>3h
//	!state:scored    the opposite of a term
//
// Case does not matter. A term that is no valid regular expression is looked for
// as it stands. The zero value lets everything through.
type Filtering struct {
	terms []filterTerm
}

type filterTerm struct {
	not     bool
	field   string // empty for the whole row
	literal string // in lower case; for what is no expression
	pattern *regexp.Regexp
	age     time.Duration // of age terms
	younger bool
	ofAge   bool
}

// ParseFilter reads a filter. Names are the fields that rows have; a term whose
// field is none of them is a word like any other.
func ParseFilter(text string, names []string) Filtering {
	var f Filtering
	for _, word := range strings.Fields(text) {
		var t filterTerm
		if rest, ok := strings.CutPrefix(word, "!"); ok {
			t.not, word = true, rest
		}
		if word == "" {
			continue
		}
		if field, value, ok := strings.Cut(word, ":"); ok {
			field = strings.ToLower(field)
			if field == "age" {
				if age, younger, ok := parseAge(value); ok {
					t.ofAge, t.age, t.younger = true, age, younger
					f.terms = append(f.terms, t)
					continue
				}
			}
			for _, n := range names {
				if n == field {
					t.field, word = field, value
				}
			}
		}
		if n := len(word); n > 2 && word[0] == '/' && word[n-1] == '/' {
			word = word[1 : n-1]
		}
		t.literal = strings.ToLower(word)
		if regexp.QuoteMeta(word) != word {
			if pattern, err := regexp.Compile("(?i)" + word); err == nil {
				t.pattern = pattern
			}
		}
		f.terms = append(f.terms, t)
	}
	return f
}

// parseAge reads <2d, >3h or 30m, which means younger than.
func parseAge(s string) (age time.Duration, younger, ok bool) {
	younger = !strings.HasPrefix(s, ">")
	s = strings.TrimLeft(s, "<>=")
	if s == "" {
		return 0, false, false
	}
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit, known := units[s[len(s)-1]]
	n, err := strconv.Atoi(s[:len(s)-1])
	if !known || err != nil || n < 0 || n > 1e6 {
		return 0, false, false
	}
	return time.Duration(n) * unit, younger, true
}

// Empty reports whether everything passes.
func (f Filtering) Empty() bool { return len(f.terms) == 0 }

// Matches reports whether a folded row passes.
func (f Filtering) Matches(row Fields) bool {
	for _, t := range f.terms {
		if t.matches(row) == t.not {
			return false
		}
	}
	return true
}

func (t filterTerm) matches(row Fields) bool {
	switch {
	case t.ofAge:
		return row.HasAge && (row.Age < t.age) == t.younger
	case t.field != "":
		return t.in(row.Named[t.field])
	default:
		return t.in(row.Text)
	}
}

// in reports whether a text of a folded row has the term.
func (t filterTerm) in(text string) bool {
	if t.pattern != nil {
		return t.pattern.MatchString(text)
	}
	return strings.Contains(text, t.literal)
}
