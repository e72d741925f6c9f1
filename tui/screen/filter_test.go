package screen

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFilter(t *testing.T) {
	row := Fields{
		Text: "challenge-1 Aurora Lab failed RuntimeError: no space (6 > 4)", Age: 26 * time.Hour, HasAge: true,
		Named: map[string]string{"state": "failed", "team": "Aurora Lab", "challenge": "tb2-9b"},
	}
	for _, c := range []struct {
		filter string
		want   bool
	}{
		{"", true},
		{"   ", true},
		{"aurora", true},
		{"AURORA failed", true},
		{"aurora kappa", false},
		{"!kappa", true},
		{"!aurora", false},
		{"state:failed", true},
		{"state:fail|queued", true},
		{"state:scored", false},
		{"!state:scored team:aurora", true},
		{"state:", true},
		{"age:<2d", true},
		{"age:2d", true},
		{"age:>2d", false},
		{"!age:>2d", true},
		{"age:>1d", true},
		{"age:nonsense", false}, // a word like any other
		{"runtime.*space", true},
		{"^challenge-1", true},
		{"/runtime.*space/", true},
		{"!/^challenge-1/", false},
		{"state:/fail|queued/", true},
		{"//", false},
		{"(6", true}, // no expression: as it stands
		{"[", false},
		{"unknown:field", false},
		{"RuntimeError:", true}, // a colon is no field by itself
		{"!", true},
	} {
		if got := ParseFilter(c.filter, []string{"state", "team", "challenge"}).Matches(row.folded()); got != c.want {
			t.Errorf("%q: %t", c.filter, got)
		}
	}
}

func TestAgeTermNeedsAnAge(t *testing.T) {
	for _, filter := range []string{"age:<2d", "age:>2d"} {
		if ParseFilter(filter, nil).Matches(Fields{}.folded()) {
			t.Errorf("%s matches a row without an age", filter)
		}
	}
}

// A filter and its opposite part the rows: each row passes exactly one of them.
func TestNotIsTheOpposite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[^\s\pZ\pC!]{1,12}`).Draw(t, "word")
		row := Fields{Text: rapid.String().Draw(t, "text"), Named: map[string]string{"state": rapid.String().Draw(t, "state")}, Age: time.Hour, HasAge: true}.folded()
		names := []string{"state"}
		if ParseFilter(word, names).Matches(row) == ParseFilter("!"+word, names).Matches(row) {
			t.Fatalf("%q and its opposite agree", word)
		}
	})
}
