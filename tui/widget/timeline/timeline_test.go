package timeline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/widget/timeline"
	"github.com/posttrainarena/arena/tui/widget/widgettest"
)

func styles() timeline.Styles {
	c := widgettest.Colour
	return timeline.Styles{
		Waiting: c("8"), Running: c("4"), Done: c("2"), Failed: c("1"), Stopped: c("3"), Skipped: c("8"),
		Name: widgettest.Style().Bold(true), Duration: widgettest.Style(), Reference: c("6"), Note: c("8"),
	}
}

// training is a run in the middle of its training.
func training() []timeline.Stage {
	const m = time.Minute
	return []timeline.Stage{
		{Name: "setup", State: timeline.Done, Took: 9 * m, Reference: 8 * m},
		{Name: "snapshot", State: timeline.Done, Took: 40 * time.Second, Reference: m},
		{Name: "baseline", State: timeline.Done, Took: 61 * m, Reference: 58 * m, Note: "31 of 88 passed"},
		{Name: "gate", State: timeline.Done, Took: 22 * m, Reference: 25 * m, Note: "5 of 8 passed"},
		{Name: "training", State: timeline.Running, Took: 95 * m, Reference: 210 * m, Note: "step 41"},
		{Name: "heldout", State: timeline.Waiting, Reference: 60 * m},
		{Name: "collect", State: timeline.Waiting},
	}
}

// each is a stage in every state.
func each() []timeline.Stage {
	var stages []timeline.Stage
	for s := timeline.Waiting; s <= timeline.Skipped; s++ {
		stage := timeline.Stage{Name: "stage", State: s, Reference: 40 * time.Minute}
		if s != timeline.Waiting && s != timeline.Skipped {
			stage.Took = 30 * time.Minute
		}
		stages = append(stages, stage)
	}
	return stages
}

func TestView(t *testing.T) {
	ascii := timeline.WithASCII(true)
	for _, tt := range []struct {
		name          string
		stages        []timeline.Stage
		width, height int
		opts          []timeline.Option
	}{
		{"in training 120x8", training(), 120, 8, nil},
		{"in training 80x7", training(), 80, 7, nil},
		{"in training 40x7", training(), 40, 7, nil},
		{"in training 20x7", training(), 20, 7, nil},
		{"too few rows", training(), 80, 4, nil},
		{"compact 120", training(), 120, 1, nil},
		{"compact 60", training(), 60, 1, nil},
		{"compact 12", training(), 12, 1, nil},
		{"compact 4", training(), 4, 1, nil},
		{"every state", each(), 90, 6, nil},
		{"every state in ascii", each(), 90, 6, []timeline.Option{ascii}},
		{"every state compact in ascii", each(), 90, 1, []timeline.Option{ascii}},
		{"in ascii", training(), 120, 7, []timeline.Option{ascii}},
		{"styled", training(), 80, 7, []timeline.Option{timeline.WithStyles(styles())}},
		{"styled compact", training(), 80, 1, []timeline.Option{timeline.WithStyles(styles())}},
		{"no stages", nil, 30, 2, nil},
		{"no stages compact", nil, 30, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := timeline.New(tt.opts...)
			m.SetSize(tt.width, tt.height)
			m.SetStages(tt.stages)
			widgettest.Exact(t, m.View(), tt.width, tt.height)
			if strings.Contains(tt.name, "ascii") {
				widgettest.ASCIIOnly(t, m.View())
			}
			widgettest.Golden(t, m.View())
		})
	}
}

// TestStatesDifferWithoutColour holds for the sign, the word and the bar.
func TestStatesDifferWithoutColour(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		seen := map[string]timeline.State{}
		for _, s := range each() {
			m := timeline.New(timeline.WithASCII(ascii))
			m.SetSize(6, 2) // the sign and part of the name
			m.SetStages([]timeline.Stage{s})
			view := ansi.Strip(m.View())
			if other, ok := seen[view]; ok {
				t.Errorf("%s and %s both look like %q", s.State, other, view)
			}
			seen[view] = s.State
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 59 * time.Second: "59s", 185 * time.Second: "3m05s",
		137 * time.Minute: "2h17m", 123 * time.Hour: "5d03h",
	} {
		if got := timeline.Span(d); got != want {
			t.Errorf("Span(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestViewIsExactForAnyStages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stages := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) timeline.Stage {
			return timeline.Stage{
				Name:      rapid.SampledFrom([]string{"", "setup", "評価の段階", "a\tb", "e\u0301", strings.Repeat("long", 20), "\x1b[31mred"}).Draw(t, "name"),
				State:     timeline.State(rapid.IntRange(-1, 7).Draw(t, "state")),
				Took:      time.Duration(rapid.Int64Range(-1e9, 1e15).Draw(t, "took")),
				Reference: time.Duration(rapid.Int64Range(-1e9, 1e15).Draw(t, "reference")),
				Note:      rapid.SampledFrom([]string{"", "12 of 88", "注記"}).Draw(t, "note"),
			}
		}), 0, 12).Draw(t, "stages")
		width, height := rapid.IntRange(0, 220).Draw(t, "width"), rapid.IntRange(0, 14).Draw(t, "height")
		ascii := rapid.Bool().Draw(t, "ascii")
		m := timeline.New(timeline.WithASCII(ascii), timeline.WithStyles(styles()))
		m.SetSize(width, height)
		m.SetStages(stages)
		widgettest.Exact(t, m.View(), width, height)
		widgettest.Exact(t, m.Compact(width), width, min(width, 1))
		if ascii {
			widgettest.ASCIIOnly(t, m.View()+m.Compact(width))
		}
	})
}

func BenchmarkView(b *testing.B) {
	for _, height := range []int{7, 1} {
		b.Run(fmt.Sprint(height, " rows"), func(b *testing.B) {
			m := timeline.New(timeline.WithStyles(styles()))
			m.SetSize(200, height)
			m.SetStages(training())
			b.ReportAllocs()
			for b.Loop() {
				m.View()
			}
		})
	}
}
