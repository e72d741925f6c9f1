package fuzzy_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/widget/fuzzy"
)

func TestRankPutsWhatIsMeantFirst(t *testing.T) {
	titles := []string{"Open the job's log", "Cancel the run", "Collect the result", "Copy the id", "Go to collections", "Go to the leaderboard", "Release the mouse"}
	for _, tt := range []struct {
		query, first string
	}{
		{"log", "Open the job's log"},
		{"cr", "Cancel the run"},
		{"can", "Cancel the run"},
		{"col", "Collect the result"},
		{"gc", "Go to collections"},
		{"go lead", "Go to the leaderboard"},
		{"LEADER", "Go to the leaderboard"},
		{"mouse", "Release the mouse"},
	} {
		got := fuzzy.Rank(tt.query, titles)
		if len(got) == 0 || titles[got[0].Index] != tt.first {
			t.Errorf("%q means %v, want %q first", tt.query, got, tt.first)
		}
	}
	if got := fuzzy.Rank("xyz", titles); len(got) != 0 {
		t.Errorf("xyz means %v", got)
	}
}

func TestAnEmptyQueryKeepsTheOrder(t *testing.T) {
	var got []int
	for _, r := range fuzzy.Rank(" ", []string{"b", "a", "c"}) {
		got = append(got, r.Index)
	}
	if diff := cmp.Diff([]int{0, 1, 2}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFindMarksTheLettersThatCount(t *testing.T) {
	for _, tt := range []struct {
		query, title string
		want         []int
	}{
		{"run", "rerun a run", []int{8, 9, 10}},
		{"jr", "JoinRow", []int{0, 4}},
		{"図館", "図書館", []int{0, 2}},
	} {
		m, ok := fuzzy.Find(tt.query, tt.title)
		if diff := cmp.Diff(tt.want, m.Positions); diff != "" || !ok {
			t.Errorf("%q in %q (-want +got):\n%s", tt.query, tt.title, diff)
		}
	}
}

func TestPositionsSpellTheQuery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		title := rapid.StringMatching(`[a-cA-C _\-é]{0,30}`).Draw(t, "title")
		query := rapid.StringMatching(`[a-cA-C é]{0,5}`).Draw(t, "query")
		m, ok := fuzzy.Find(query, title)
		want := strings.ToLower(strings.ReplaceAll(query, " ", ""))
		if !ok {
			if subsequence(want, strings.ToLower(title)) {
				t.Fatalf("%q is in %q", query, title)
			}
			return
		}
		var spelled []rune
		for _, p := range m.Positions {
			spelled = append(spelled, unicode.ToLower([]rune(title)[p]))
		}
		if string(spelled) != want || !slices.IsSorted(m.Positions) {
			t.Fatalf("the positions %v in %q spell %q, want %q", m.Positions, title, string(spelled), want)
		}
	})
}

func subsequence(q, t string) bool {
	rs := []rune(q)
	for _, r := range t {
		if len(rs) > 0 && rs[0] == r {
			rs = rs[1:]
		}
	}
	return len(rs) == 0
}

func TestWordsTellsTheArgument(t *testing.T) {
	for _, tt := range []struct {
		text, title, rest string
		ok                bool
	}{
		{"go to line 500", "Go to line", "500", true},
		{"  Go  to line  ", "Go to line", "", true},
		{"go to", "Go to line", "", false},
		{"go to lines", "Go to line", "", false},
	} {
		if rest, ok := fuzzy.Words(tt.text, tt.title); rest != tt.rest || ok != tt.ok {
			t.Errorf("Words(%q, %q) = %q, %t", tt.text, tt.title, rest, ok)
		}
	}
}

func BenchmarkRank(b *testing.B) {
	titles := slices.Repeat([]string{"Open the job's log", "Cancel the run challenge-0123456789ab", "Go to collections"}, 100)
	b.ReportAllocs()
	for b.Loop() {
		fuzzy.Rank("can run", titles)
	}
}
