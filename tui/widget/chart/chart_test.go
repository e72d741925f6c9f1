package chart_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/widget/chart"
	"github.com/posttrainarena/arena/tui/widget/widgettest"
)

func styles() chart.Styles {
	c, plain := widgettest.Colour, widgettest.Style()
	return chart.Styles{Title: plain.Bold(true), Value: plain, Note: c("3"), Line: c("4"), Axis: c("8"), Cursor: c("0").Background(c("3").GetForeground())}
}

// reward is a curve that rises and swings.
func reward(n int) []chart.Point {
	points := make([]chart.Point, n)
	for i := range points {
		x := float64(i + 1)
		points[i] = chart.Point{X: x, Y: 0.6*(1-math.Exp(-x/40)) + 0.08*math.Sin(x/3)}
	}
	return points
}

// loss falls over four orders of magnitude, with values that no logarithm has.
func loss() []chart.Point {
	var points []chart.Point
	for i := range 120 {
		points = append(points, chart.Point{X: float64(i), Y: 10 * math.Pow(10, -float64(i)/30)})
	}
	points[40].Y, points[41].Y, points[80].Y = math.NaN(), math.Inf(1), -0.001
	return points
}

func TestView(t *testing.T) {
	spike := reward(5_000)
	spike[2_500].Y = 3
	for _, tt := range []struct {
		name          string
		points        []chart.Point
		width, height int
		do            func(m *chart.Model)
		opts          []chart.Option
	}{
		{"60x12", reward(200), 60, 12, nil, nil},
		{"30x6", reward(200), 30, 6, nil, nil},
		{"12x3", reward(200), 12, 3, nil, nil},
		{"one row", reward(200), 60, 1, nil, nil},
		{"few points", reward(3), 40, 8, nil, nil},
		{"one point", reward(1), 40, 6, nil, nil},
		{"no points", nil, 40, 6, nil, nil},
		{"a single spike among five thousand", spike, 60, 10, nil, nil},
		{"logarithmic", loss(), 60, 12, func(m *chart.Model) { m.SetLog(true) }, nil},
		{"linear with gaps", loss(), 60, 12, nil, nil},
		{"inspected", reward(200), 60, 12, func(m *chart.Model) { m.Move(-1); m.Move(-100) }, nil},
		{"ascii", reward(200), 60, 12, func(m *chart.Model) { m.Move(-1); m.Move(-100) }, []chart.Option{chart.WithASCII(true)}},
		{"ascii in one row", reward(200), 60, 1, nil, []chart.Option{chart.WithASCII(true)}},
		{"styled", reward(200), 60, 8, func(m *chart.Model) { m.Move(-1); m.Move(-100) }, []chart.Option{chart.WithStyles(styles())}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := chart.New(append(tt.opts, chart.WithTitle("reward", "step"))...)
			m.SetSize(tt.width, tt.height)
			m.SetPoints(tt.points)
			if tt.do != nil {
				tt.do(&m)
			}
			widgettest.Exact(t, m.View(), tt.width, tt.height)
			if strings.Contains(tt.name, "ascii") {
				widgettest.ASCIIOnly(t, m.View())
			}
			widgettest.Golden(t, m.View())
		})
	}
}

// TestNoExtremeIsLost puts one spike among many points: it reaches the top of the
// plot and the top of the sparkline, wherever it is.
func TestNoExtremeIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20_000).Draw(t, "points")
		at := rapid.IntRange(0, n-1).Draw(t, "spike")
		sign := rapid.SampledFrom([]float64{1, -1}).Draw(t, "sign")
		points, values := make([]chart.Point, n), make([]float64, n)
		for i := range points {
			points[i] = chart.Point{X: float64(i)}
		}
		points[at].Y, values[at] = sign*7, sign*7
		m := chart.New()
		m.SetSize(40, 10)
		m.SetPoints(points)
		rows := strings.Split(ansi.Strip(m.View()), "\n")
		row := rows[1] // below the header
		if sign < 0 {
			row = rows[8] // above the axis
		}
		_, plot, _ := strings.Cut(row, "┤")
		if strings.TrimSpace(plot) == "" {
			t.Fatalf("a spike to %g is not drawn in %q of\n%s", 7*sign, row, m.View())
		}
		want := "█"
		if sign < 0 {
			want = "▁"
		}
		if spark := chart.Sparkline(values, 30, false); !strings.Contains(spark, want) {
			t.Fatalf("a spike to %g is not in the sparkline %q", 7*sign, spark)
		}
	})
}

func TestSparkline(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		values []float64
		width  int
		want   string
	}{
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7}, 8, "▁▂▃▄▅▆▇█"},
		{[]float64{1, 2}, 4, "▁█  "},
		{[]float64{5, 5, 5}, 3, "▄▄▄"},
		{[]float64{0, nan, 1, math.Inf(1)}, 4, "▁ █ "},
		{[]float64{nan}, 2, "  "},
		{nil, 2, "  "},
		{[]float64{1}, 0, ""},
	} {
		if got := chart.Sparkline(tt.values, tt.width, false); got != tt.want {
			t.Errorf("Sparkline(%v, %d) = %q, want %q", tt.values, tt.width, got, tt.want)
		}
	}
	if got := chart.Sparkline([]float64{0, 1, 2, 3, 4, 5, 6, 7}, 8, true); got != "_.-=+*#@" {
		t.Errorf("in ASCII: %q", got)
	}
}

func TestTheCursorReadsPoints(t *testing.T) {
	m := chart.New()
	m.SetSize(60, 10)
	m.Move(1)
	if _, ok := m.Inspected(); ok {
		t.Error("a chart without points has a cursor")
	}
	m.SetPoints([]chart.Point{{3, 30}, {1, 10}, {math.NaN(), 5}, {2, 20}})
	for _, step := range []struct {
		move int
		x    float64
	}{{-1, 3}, {-1, 2}, {-5, 1}, {1, 2}, {9, 3}} {
		m.Move(step.move)
		if p, ok := m.Inspected(); !ok || p.X != step.x || p.Y != 10*step.x {
			t.Errorf("after a move of %d it reads %v, want x %g", step.move, p, step.x)
		}
	}
	m.SetPoints([]chart.Point{{1, 11}, {2.9, 29}, {4, 44}}) // the nearest to where it was
	if p, _ := m.Inspected(); p.X != 2.9 {
		t.Errorf("with other points it reads %v", p)
	}
	if !m.Click(59) || m.Click(0) || m.Click(60) {
		t.Error("a click must be in the plot")
	}
	if p, _ := m.Inspected(); p.X != 4 {
		t.Errorf("a click at the right reads %v", p)
	}
	if !m.Leave() || m.Leave() {
		t.Error("a cursor must be there to be left, once")
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 12: "12", -3.5: "-3.5", 0.43128: "0.4313", 1234567: "1.235e+06", 0.00001234: "1.234e-05", 1.5e-300: "1.5e-300",
		math.Inf(1): "inf", math.Inf(-1): "-inf",
	} {
		if got := chart.Number(x); got != want {
			t.Errorf("Number(%g) = %q, want %q", x, got, want)
		}
	}
	if got := chart.Number(math.NaN()); got != "nan" {
		t.Errorf("Number(NaN) = %q", got)
	}
}

func TestViewIsExactForAnyPoints(t *testing.T) {
	number := rapid.OneOf(rapid.Float64Range(-10, 10), rapid.Float64(), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324}))
	rapid.Check(t, func(t *rapid.T) {
		ascii := rapid.Bool().Draw(t, "ascii")
		m := chart.New(chart.WithStyles(styles()), chart.WithASCII(ascii),
			chart.WithTitle(rapid.SampledFrom([]string{"", "reward", "報酬の曲線", strings.Repeat("long", 20)}).Draw(t, "title"), "step"))
		width, height := rapid.IntRange(0, 120).Draw(t, "width"), rapid.IntRange(0, 20).Draw(t, "height")
		m.SetSize(width, height)
		m.SetPoints(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) chart.Point {
			return chart.Point{X: number.Draw(t, "x"), Y: number.Draw(t, "y")}
		}), 0, 40).Draw(t, "points"))
		m.SetLog(rapid.Bool().Draw(t, "log"))
		for range rapid.IntRange(0, 3).Draw(t, "moves") {
			m.Move(rapid.IntRange(-9, 9).Draw(t, "move"))
		}
		m.Click(rapid.IntRange(-5, 130).Draw(t, "click"))
		widgettest.Exact(t, m.View(), width, height)
		if ascii {
			widgettest.ASCIIOnly(t, m.View())
		}
	})
}

func BenchmarkView(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n, " points"), func(b *testing.B) {
			m := chart.New(chart.WithStyles(styles()), chart.WithTitle("reward", "step"))
			m.SetSize(200, 30)
			m.SetPoints(reward(n))
			b.ReportAllocs()
			for b.Loop() {
				m.View()
			}
		})
	}
}

// TestTheSmallestNumbersHavePlaces: half of the smallest number is 0, so that a
// careless scale divides 0 by 0.
func TestTheSmallestNumbersHavePlaces(t *testing.T) {
	const tiny = math.SmallestNonzeroFloat64
	for _, points := range [][]chart.Point{
		{{X: 0, Y: 1}, {X: tiny, Y: 0}},
		{{X: 0, Y: 0}, {X: 1, Y: tiny}},
		{{X: -math.MaxFloat64, Y: -math.MaxFloat64}, {X: math.MaxFloat64, Y: math.MaxFloat64}},
	} {
		m := chart.New()
		m.SetSize(40, 8)
		m.SetPoints(points)
		m.Move(1)
		if rows := strings.Split(m.View(), "\n"); len(rows) != 8 {
			t.Errorf("%v: %d rows", points, len(rows))
		}
	}
}
