package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/widget/chart"
)

// curves are the training curves of a run: one in full with the others as lines,
// or several in full where there is room.
type curves struct {
	theme  look.Theme
	steps  []protocol.TrainingStep
	names  []string
	charts []chart.Model
	at     int // the curve that keys act on
	log    bool
}

// newCurves makes curves for a terminal.
func newCurves(t look.Theme) curves { return curves{theme: t} }

// fewSteps is up to how many steps are written as numbers: there is nothing to
// see in so short a curve.
const fewSteps = 3

// metrics are the curves that are looked at first.
func metrics() []string {
	return []string{"reward", "loss", "kl", "entropy", "reward_std", "grad_norm"}
}

// set takes the steps of a run in. To one run, steps are only ever added.
func (c *curves) set(steps []protocol.TrainingStep) {
	if len(steps) == len(c.steps) && (len(steps) == 0 || steps[0].At.Equal(c.steps[0].At)) {
		return
	}
	c.steps = steps
	seen := map[string]bool{}
	for _, s := range steps {
		for name := range s.Values {
			seen[name] = true
		}
	}
	selected := ""
	if c.at < len(c.names) {
		selected = c.names[c.at]
	}
	rest := slices.DeleteFunc(sortedKeys(seen), func(n string) bool { return slices.Contains(metrics(), n) })
	c.names = append(slices.DeleteFunc(metrics(), func(n string) bool { return !seen[n] }), rest...)
	old := c.charts
	c.charts = make([]chart.Model, len(c.names))
	for i, name := range c.names {
		if len(old) == len(c.names) {
			c.charts[i] = old[i] // keeps the cursor
		} else {
			c.charts[i] = chart.New(chart.WithASCII(c.theme.ASCII()), chart.WithTitle(name, "step"), chart.WithStyles(chartStyles(c.theme)))
		}
		c.charts[i].SetLog(c.log)
		c.charts[i].SetPoints(c.points(name))
	}
	c.at = max(slices.Index(c.names, selected), 0)
}

func (c *curves) points(name string) []chart.Point {
	var points []chart.Point
	for _, s := range c.steps {
		if v, ok := s.Values[name]; ok {
			points = append(points, chart.Point{X: float64(s.Step), Y: v})
		}
	}
	return points
}

func chartStyles(t look.Theme) chart.Styles {
	return chart.Styles{
		Title: t.Style(look.Strong), Value: t.Style(look.Plain), Note: t.Style(look.Warn), Line: t.Style(look.Accent), Axis: t.Style(look.Dim), Cursor: t.Style(look.Warn),
	}
}

// drawn reports whether there is a curve to see.
func (c *curves) drawn() bool { return len(c.steps) > fewSteps }

// act turns to the next curve, or inspects the present one.
func (c *curves) act(i Intent) bool {
	if len(c.charts) == 0 {
		return false
	}
	switch i {
	case NextCurve:
		c.at = (c.at + 1) % len(c.charts)
	case LogScale:
		c.log = !c.log
		for j := range c.charts {
			c.charts[j].SetLog(c.log)
		}
	case Left:
		c.charts[c.at].Move(-1)
	case Right:
		c.charts[c.at].Move(1)
	case Back:
		return c.charts[c.at].Leave()
	default:
		return false
	}
	return true
}

// fullChart is the least size in which several curves are drawn in full.
const (
	fullChartWidth  = 44
	fullChartHeight = 8
)

// view draws the curves in a room.
func (c *curves) view(width, height int) []string {
	t := c.theme
	note := []cell(nil)
	if n := len(c.steps); n > 0 {
		note = []cell{{counted(n, "step"), look.Dim}}
	}
	rows := []string{heading(t, width, "Training", note...)}
	height--
	switch {
	case len(c.steps) == 0:
		return append(rows, line(t, width, cell{"No training step yet.", look.Dim}))
	case len(c.steps) <= fewSteps:
		return append(rows, c.numbers(width)...)
	case width >= 2*fullChartWidth+gap && height >= 2*fullChartHeight:
		return append(rows, c.grid(width, height, 2)...)
	case height >= 3*fullChartHeight:
		return append(rows, c.grid(width, height, 1)...)
	}
	lines := min(max(height-fullChartHeight, 0), len(c.charts)-1, 4)
	rows = append(rows, c.draw(c.at, width, height-lines)...)
	for k := range lines {
		rows = append(rows, c.draw((c.at+1+k)%len(c.charts), width, 1)...)
	}
	return rows
}

// draw draws one curve at a size.
func (c *curves) draw(i, width, height int) []string {
	m := c.charts[i]
	m.SetSize(width, height)
	return strings.Split(m.View(), "\n")
}

// grid draws as many curves as there is room for, beginning with the selected.
func (c *curves) grid(width, height, columns int) []string {
	n := min(len(c.charts), columns*(height/fullChartHeight))
	n -= n % columns
	lines := (n + columns - 1) / columns
	each, cellWidth := height/max(lines, 1), (width-(columns-1)*gap)/columns
	var rows []string
	for k := 0; k < n; k += columns {
		left := c.draw((c.at+k)%len(c.charts), cellWidth, each)
		if columns == 1 {
			rows = append(rows, left...)
			continue
		}
		var right []string
		if k+1 < n {
			right = c.draw((c.at+k+1)%len(c.charts), cellWidth, each)
		}
		rows = append(rows, beside(left, cellWidth, right, cellWidth, each)...)
	}
	return rows
}

// numbers writes the steps out.
func (c *curves) numbers(width int) []string {
	columns := []column{{title: "step", width: 5, right: true}}
	for i, name := range c.names {
		columns = append(columns, column{title: name, width: max(len(name), 9), right: true, keep: len(c.names) - i})
	}
	widths := arrange(columns, width)
	rows := []string{headOf(c.theme, columns, widths)}
	for _, s := range c.steps {
		cells := []cell{text(fmt.Sprint(s.Step))}
		for _, name := range c.names {
			v, ok := s.Values[name]
			if !ok {
				cells = append(cells, cell{})
				continue
			}
			cells = append(cells, text(chart.Number(v)))
		}
		rows = append(rows, rowOf(c.theme, columns, widths, cells))
	}
	return rows
}
