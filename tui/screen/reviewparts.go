package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/widget/celltext"
	"github.com/posttrainarena/arena/tui/widget/matrix"
)

// partRows are all rows of a part of the review, as if there were room for them.
func (s *reviewScreen) partRows(w World, p reviewPart, width int) []string {
	r, res, ok := s.result(w)
	if !ok {
		return nil
	}
	switch p {
	case partHistory:
		return historyRows(w, r, res, width)
	default:
		return evidenceRows(w, r, res, width)
	}
}

// evidenceRows are what was checked, then the stages and where the evidence is.
func evidenceRows(w World, r api.Run, res api.Result, width int) []string {
	t := w.Theme
	var rows []string
	const nameWidth, wordWidth = 14, 7
	for _, e := range evidenceOf(w.Data, r, res) {
		m := e.mark(t)
		lead := t.Paint(m.tone, celltext.Fit(m.shape+" "+m.word, wordWidth)) + "  " + celltext.Fit(e.name, nameWidth) + "  "
		for i, part := range celltext.Wrap(e.detail, max(width-nameWidth-wordWidth-4, 20)) {
			if i > 0 {
				lead = celltext.Spaces(nameWidth + wordWidth + 4)
			}
			rows = append(rows, lead+t.Paint(look.Dim, part))
		}
	}
	rows = append(rows, "", stageTimeline(w, r).Compact(width))
	for _, link := range []struct{ name, url string }{{"digest", res.EvidenceDigest}, {"report", deref(res.ReportURL)}, {"job", deref(res.JobURL)}} {
		if link.url != "" {
			rows = append(rows, line(t, width, cell{celltext.Fit(link.name, 8), look.Dim}, text(link.url)))
		}
	}
	return rows
}

// taskView draws the held-out tasks before and after.
func (s *reviewScreen) taskView(w World, res api.Result, width int) []string {
	if len(res.Cells) == 0 {
		return []string{line(w.Theme, width, cell{"Per-task outcomes name sealed tasks: editors only.", look.Dim})}
	}
	return strings.Split(s.tasks.View(), "\n")
}

// taskRows are cells by task, those that turned first.
func taskRows(cells []protocol.Cell) []matrix.Row {
	type key struct{ suite, task string }
	suites := map[string]bool{}
	at := map[key]int{}
	var rows []matrix.Row
	for _, c := range cells {
		suites[c.Suite] = true
		i, ok := at[key{c.Suite, c.Task}]
		if !ok {
			i = len(rows)
			at[key{c.Suite, c.Task}] = i
			rows = append(rows, matrix.Row{Task: c.Suite + "/" + c.Task})
		}
		rows[i].Before = append(rows[i].Before, matrixOutcome(c.Before))
		rows[i].After = append(rows[i].After, matrixOutcome(c.After))
	}
	if len(suites) == 1 {
		for i := range rows {
			_, rows[i].Task, _ = strings.Cut(rows[i].Task, "/")
		}
	}
	order := []matrix.Flip{matrix.Gained, matrix.Lost, matrix.Unknown, matrix.Same}
	slices.SortStableFunc(rows, func(a, b matrix.Row) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Flip()), slices.Index(order, b.Flip())), cmp.Compare(a.Task, b.Task))
	})
	return rows
}

func matrixOutcome(o protocol.Outcome) matrix.Outcome {
	switch o {
	case protocol.OutcomePass:
		return matrix.Pass
	case protocol.OutcomeFail:
		return matrix.Fail
	case protocol.OutcomeTimeout:
		return matrix.Timeout
	case protocol.OutcomeError:
		return matrix.Error
	default:
		return matrix.Missing
	}
}

func matrixStyles(t look.Theme) matrix.Styles {
	return matrix.Styles{
		Outcomes: [5]lipgloss.Style{t.Style(look.Faint), t.Style(look.Good), t.Style(look.Plain), t.Style(look.Warn), t.Style(look.Bad)},
		Flips:    [4]lipgloss.Style{t.Style(look.Dim), t.Style(look.Good), t.Style(look.Bad), t.Style(look.Warn)},
		Task:     t.Style(look.Plain), Selected: t.Style(look.Select), Header: t.Style(look.Dim), Summary: t.Style(look.Dim),
	}
}

// historyRows are the other runs of the collection on this challenge.
func historyRows(w World, r api.Run, res api.Result, width int) []string {
	t := w.Theme
	others := siblings(w.Data, r)
	if len(others) == 0 {
		return []string{line(t, width, cell{"This is the collection's first run on " + r.ChallengeID + ".", look.Dim})}
	}
	known := results(w.Data)
	var rows []string
	for _, o := range others {
		if m, ok := known[o.RunID]; ok && o.CreatedAt.Before(r.CreatedAt) {
			rows = append(rows, line(t, width, cell{fmt.Sprintf("%s pp against the run before it (%s pp)", points(res.DeltaPP-m.delta), points(m.delta)), look.Plain}), "")
			break
		}
	}
	columns := []column{{width: 10}, {width: 12}, {width: 22, flex: 1}, {width: 8, right: true}, {width: 4, right: true}}
	widths := arrange(columns, width)
	for _, o := range others {
		what := cell{sentence(deref(o.Reason)), look.Dim}
		delta := ""
		if m, ok := known[o.RunID]; ok {
			what, delta = resultMark(t, m.verification).cell(), points(m.delta)+" pp"
		}
		rows = append(rows, rowOf(t, columns, widths, []cell{runMark(t, o).cell(), text(shortID(o.RunID)), what, text(delta), {Ago(w.Now, o.CreatedAt), look.Dim}}))
	}
	return rows
}
