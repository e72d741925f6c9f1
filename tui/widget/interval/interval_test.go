package interval_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/widget/interval"
	"github.com/posttrainarena/arena/tui/widget/widgettest"
)

func styles() interval.Styles {
	c := widgettest.Colour
	return interval.Styles{
		Interval: c("7"), Better: c("2").Bold(true), Worse: c("1").Bold(true), Unclear: c("3"),
		Zero: c("8"), Axis: c("8"), Bracket: c("6"),
	}
}

// board is a leaderboard: the first three cannot be told apart, nor the third and
// the fourth; the fifth was run once and has no interval.
func board() []interval.Row {
	none := math.NaN()
	return []interval.Row{
		{Mean: 6.2, Low: 3.1, High: 9.4},
		{Mean: 5.8, Low: 3.9, High: 7.7},
		{Mean: 3.4, Low: 0.6, High: 6.0},
		{Mean: 1.1, Low: -0.8, High: 2.9},
		{Mean: 0.9, Low: none, High: none},
		{Mean: -2.5, Low: -4.4, High: -0.7},
		{Mean: none, Low: none, High: none},
	}
}

func TestView(t *testing.T) {
	for _, tt := range []struct {
		name          string
		rows          []interval.Row
		width, height int
		opts          []interval.Option
	}{
		{"80x8", board(), 80, 8, nil},
		{"40x8", board(), 40, 8, nil},
		{"12x8", board(), 12, 8, nil},
		{"5x8", board(), 5, 8, nil},
		{"ascii", board(), 60, 8, []interval.Option{interval.WithASCII(true)}},
		{"styled", board(), 60, 8, []interval.Option{interval.WithStyles(styles())}},
		{"all above zero", board()[:3], 60, 4, nil},
		{"all below zero", board()[5:6], 60, 2, nil},
		{"small numbers", []interval.Row{{Mean: 0.012, Low: -0.004, High: 0.031}}, 60, 2, nil},
		{"no rows", nil, 40, 3, nil},
		{"too few rows", board(), 60, 4, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := interval.New(append(tt.opts, interval.WithUnit("pp"))...)
			m.SetSize(tt.width, tt.height)
			m.SetRows(tt.rows)
			widgettest.Exact(t, m.View(), tt.width, tt.height)
			if tt.name == "ascii" {
				widgettest.ASCIIOnly(t, m.View())
			}
			widgettest.Golden(t, m.View())
		})
	}
}

func TestTies(t *testing.T) {
	row := func(low, high float64) interval.Row {
		return interval.Row{Mean: (low + high) / 2, Low: low, High: high}
	}
	alone := interval.Row{Mean: 1, Low: math.NaN(), High: math.NaN()}
	for _, tt := range []struct {
		name string
		rows []interval.Row
		want []interval.Span
	}{
		{"nothing", nil, nil},
		{"one row", []interval.Row{row(1, 2)}, nil},
		{"apart", []interval.Row{row(5, 6), row(1, 2)}, nil},
		{"touching counts as overlapping", []interval.Row{row(5, 6), row(4, 5)}, []interval.Span{{First: 0, Last: 1}}},
		{"all three", []interval.Row{row(4, 9), row(3, 7), row(1, 5)}, []interval.Span{{First: 0, Last: 2}}},
		{
			"the first is apart from the last",
			[]interval.Row{row(6, 9), row(3, 7), row(1, 5)},
			[]interval.Span{{First: 0, Last: 1}, {First: 1, Last: 2, Lane: 1}},
		},
		{
			"a lane is used again",
			[]interval.Row{row(8, 9), row(8, 9), row(1, 2), row(1, 2)},
			[]interval.Span{{First: 0, Last: 1}, {First: 2, Last: 3}},
		},
		{"a row without an interval ends a run", []interval.Row{row(1, 5), alone, row(1, 5)}, nil},
	} {
		if diff := cmp.Diff(tt.want, interval.Ties(tt.rows)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func anyRows() *rapid.Generator[[]interval.Row] {
	number := rapid.OneOf(rapid.Float64Range(-20, 20), rapid.Float64(), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1)}))
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) interval.Row {
		return interval.Row{Mean: number.Draw(t, "mean"), Low: number.Draw(t, "low"), High: number.Draw(t, "high")}
	}), 0, 15)
}

func TestTiesCoverExactlyTheOverlappingNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := anyRows().Draw(t, "rows")
		ties := interval.Ties(rows)
		lanes := map[int]int{} // row and lane to how many brackets
		for _, s := range ties {
			for i := s.First; i <= s.Last; i++ {
				if !rows[i].Bounded() {
					t.Fatalf("row %d of %+v has no interval", i, s)
				}
				if lanes[i*100+s.Lane]++; lanes[i*100+s.Lane] > 1 {
					t.Fatalf("two brackets in lane %d of row %d", s.Lane, i)
				}
			}
		}
		for i := 1; i < len(rows); i++ {
			a, b := rows[i-1], rows[i]
			overlap := a.Bounded() && b.Bounded() && a.Low <= b.High && b.Low <= a.High
			covered := slices.ContainsFunc(ties, func(s interval.Span) bool { return s.First <= i-1 && i <= s.Last })
			if overlap != covered {
				t.Fatalf("rows %d and %d: overlap is %t, under a bracket is %t", i-1, i, overlap, covered)
			}
		}
	})
}

func TestViewIsExactForAnyRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(0, 150).Draw(t, "width"), rapid.IntRange(0, 20).Draw(t, "height")
		ascii := rapid.Bool().Draw(t, "ascii")
		m := interval.New(interval.WithStyles(styles()), interval.WithASCII(ascii), interval.WithUnit("pp"))
		m.SetRows(anyRows().Draw(t, "rows"))
		m.SetSize(width, height)
		widgettest.Exact(t, m.View(), width, height)
		if ascii {
			widgettest.ASCIIOnly(t, m.View())
		}
	})
}

// TestOneAxisForAllRows means that columns can be compared down the rows: zero is
// in the same column everywhere.
func TestOneAxisForAllRows(t *testing.T) {
	m := interval.New()
	m.SetSize(61, 8)
	m.SetRows([]interval.Row{{Mean: 8, Low: 7, High: 9}, {Mean: -8, Low: -9, High: -7}, {Mean: 4, Low: 3, High: 5}})
	for _, row := range strings.Split(m.View(), "\n")[:3] {
		if at := slices.Index([]rune(row), '┊'); at != 30 {
			t.Errorf("zero is in column %d of %q, want 30", at, row)
		}
	}
}

func BenchmarkView(b *testing.B) {
	m := interval.New(interval.WithStyles(styles()))
	m.SetRows(slices.Repeat(board(), 7))
	m.SetSize(100, 50)
	b.ReportAllocs()
	for b.Loop() {
		m.View()
	}
}
