package pages

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/leaderboard"
)

// functions are what templates may call.
func (r *Renderer) functions() map[string]any {
	return map[string]any{
		"asset":        func(name string) string { return "/assets/" + name + "?v=" + r.assets[name].Version },
		"challengeNow": challengeNow,
		"duration":     func(seconds int64) string { return plainDuration(time.Duration(seconds) * time.Second) },
		"duration64":   func(seconds int) string { return plainDuration(time.Duration(seconds) * time.Second) },
		"bytes":        plainBytes,
		"usd":          func(m protocol.Micros) string { return fmt.Sprintf("$%.2f", float64(m)/1e6) },
		"cell":         func(s string) string { return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s) },
		"line":         func(s string) string { return strings.Join(strings.Fields(s), " ") },
		"quoted":       quoted,
		"pct":          func(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) },
		"signed":       func(v float64) string { return fmt.Sprintf("%+.1f", v) },
		"number":       func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"stamp":        func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"machine":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"rfc1123":      func(t time.Time) string { return t.UTC().Format(time.RFC1123Z) },
		"short":        func(s string) string { return s[:min(len(s), 12)] },
		"intervals":    intervals,
		"findings":     findings,
		"tally":        tally,
		"stages":       stages,
		"ref":          func(s string) string { return "m-" + strings.TrimSuffix(s, ".md") },
		"paragraphs":   func(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") },
		"rank":         func(n int) string { return fmt.Sprint(n) },
		"inc":          func(n int) int { return n + 1 },
		"join":         strings.Join,
		"stateWord":    func(s protocol.RunState) string { return string(s) },
	}
}

// challengeNow says in a sentence whether a challenge takes runs at the moment.
func challengeNow(c api.Challenge) string {
	switch {
	case c.Status != protocol.StatusOpen:
		return "It takes no runs."
	case c.RunsPaused != nil:
		return "Its runs are paused: " + strings.TrimSuffix(*c.RunsPaused, ".") + "."
	case c.Health == nil || c.Health.AcceptingRuns:
		return "It takes runs."
	case c.Health.Reason != nil:
		return "It takes runs, but not this moment: " + strings.TrimSuffix(*c.Health.Reason, ".") + "."
	default:
		return "It takes runs, but not this moment."
	}
}

// plainDuration is a duration as people say it, with the two largest units.
func plainDuration(d time.Duration) string {
	d = d.Round(time.Second)
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h > 0 && m == 0:
		return fmt.Sprintf("%d h", h)
	case h > 0:
		return fmt.Sprintf("%d h %d min", h, m)
	case m > 0 && s == 0:
		return fmt.Sprintf("%d min", m)
	case m > 0:
		return fmt.Sprintf("%d min %d s", m, s)
	default:
		return fmt.Sprintf("%d s", s)
	}
}

func plainBytes(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size {
			return fmt.Sprintf("%.4g %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// quoted is what somebody wrote, as a quotation in Markdown: every line of it, so
// that nothing in it reads as a part of the page.
func quoted(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = "> " + strings.TrimRight(l, "\r")
	}
	return strings.Join(lines, "\n")
}

// Interval is a row of a leaderboard as a picture, in the units of its drawing.
type Interval struct {
	Row            leaderboard.Row
	Y              float64 // middle of the row
	Low, Mid, High float64 // of the interval and the mean
	Runs           []float64
	Label          string // the same in words
}

// Drawing is the picture of a leaderboard.
type Drawing struct {
	Width, Height float64
	Foot          float64 // where the lines end and the scale begins
	Zero          float64 // where Δ is 0
	Rows          []Interval
	Ticks         []Tick
}

// Tick is a mark of a scale.
type Tick struct {
	X     float64
	Label string
}

// Sizes of a Drawing.
const (
	drawingWidth  = 600
	drawingMargin = 24
	drawingRow    = 26
)

// intervals lays out the picture of a leaderboard: of each row the mean Δ of its
// accepted runs, its interval, and every run.
func intervals(b api.Leaderboard) Drawing {
	low, high := -1.0, 1.0
	bounds := func(r leaderboard.Row) (float64, float64) {
		if r.CI95PP != nil {
			return min(r.CI95PP[0], r.DeltaPP), max(r.CI95PP[1], r.DeltaPP)
		}
		return r.DeltaPP - 1.96*r.StderrPP, r.DeltaPP + 1.96*r.StderrPP
	}
	for _, r := range b.Rows {
		lo, hi := bounds(r)
		for _, v := range append([]float64{lo, hi}, r.RunDeltasPP...) {
			low, high = min(low, v), max(high, v)
		}
	}
	x := func(v float64) float64 {
		return math.Round(10*(drawingMargin+(v-low)/(high-low)*(drawingWidth-2*drawingMargin))) / 10
	}
	d := Drawing{Width: drawingWidth, Height: float64(drawingRow*len(b.Rows) + 30), Foot: float64(drawingRow*len(b.Rows) + 8), Zero: x(0)}
	for i, r := range b.Rows {
		lo, hi := bounds(r)
		row := Interval{Row: r, Y: float64(drawingRow*i) + drawingRow/2, Low: x(lo), Mid: x(r.DeltaPP), High: x(hi)}
		for _, v := range r.RunDeltasPP {
			row.Runs = append(row.Runs, x(v))
		}
		row.Label = fmt.Sprintf("Rank %d, %s: %+.1f percentage points, 95%% interval %+.1f to %+.1f, %d accepted", r.Rank, r.Title, r.DeltaPP, lo, hi, r.VerifiedRuns)
		d.Rows = append(d.Rows, row)
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*m) <= 7 {
			step *= m
			break
		}
	}
	for v := math.Ceil(low/step) * step; v <= high; v += step {
		label := "0"
		if math.Abs(v) > step/2 {
			label = fmt.Sprintf("%+.4g", math.Round(v*1000)/1000)
		}
		d.Ticks = append(d.Ticks, Tick{x(v), label})
	}
	return d
}

// Group is the findings of one code.
type Group struct {
	Rule     report.Rule
	Findings []report.Finding
}

// findings groups a report's findings by code, strongest severity first, with
// what the catalogue says of each. The catalogue is handed in by its rules.
func findings(r report.Report) []Group {
	byCode := map[string]*Group{}
	var order []string
	for _, f := range r.Findings {
		g := byCode[f.Code]
		if g == nil {
			g = &Group{Rule: report.Rule{Code: f.Code, Severity: f.Severity, Fix: f.Fix}}
			byCode[f.Code] = g
			order = append(order, f.Code)
		}
		g.Findings = append(g.Findings, f)
	}
	slices.SortStableFunc(order, func(a, b string) int { return weight(byCode[a].Rule.Severity) - weight(byCode[b].Rule.Severity) })
	out := make([]Group, 0, len(order))
	for _, code := range order {
		out = append(out, *byCode[code])
	}
	return out
}

func weight(s report.Severity) int {
	return slices.Index([]report.Severity{report.Block, report.Reject, report.Controls, report.Review}, s)
}

// tally counts runs by state in words, in the order of states.
func tally(runs map[protocol.RunState]int) string {
	var words []string
	for _, s := range protocol.RunStates() {
		if n := runs[s]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, s))
		}
	}
	for _, s := range slices.Sorted(maps.Keys(runs)) {
		if !slices.Contains(protocol.RunStates(), s) && runs[s] > 0 {
			words = append(words, fmt.Sprintf("%d %s", runs[s], s))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// StageRow is a stage of a run with how long it took.
type StageRow struct {
	protocol.StageProgress
	Took  string  // empty before it ended
	Share float64 // of the tasks that are done, in percent; 0 when not known
}

// stages are a run's stages with their times.
func stages(run api.Run, timeline []api.StageTime) []StageRow {
	rows := make([]StageRow, 0, len(run.Stages))
	for i, s := range run.Stages {
		row := StageRow{StageProgress: s}
		if i < len(timeline) && timeline[i].Seconds != nil {
			row.Took = plainDuration(time.Duration(*timeline[i].Seconds * float64(time.Second)))
		}
		if s.Total > 0 {
			row.Share = math.Min(100, 100*float64(s.Done)/float64(s.Total))
		}
		rows = append(rows, row)
	}
	return rows
}
