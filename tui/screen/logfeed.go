package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/widget/logview"
)

// maxLogPage is the most lines that the arena gives at once.
const maxLogPage = 5000

// readTail reads the end of the log. How long the log is, only the arena knows:
// the first question is asked at a length that was true a moment ago.
func (s *logScreen) readTail(w World, n logview.NeedTail) tea.Cmd {
	r, _ := Read(w.Data, RunQuery(s.route.Challenge, s.route.Run))
	guess := r.LogLines
	return w.Do(func(ctx context.Context, a API) tea.Msg {
		limit := min(max(n.Limit, 1), maxLogPage)
		page := logview.Page{ID: n.ID, Request: n.Request}
		for {
			ans, err := a.ReadLog(ctx, s.route.Challenge, s.route.Run, max(guess-int64(limit), 0), limit)
			if err != nil {
				page.Err = err
				return page
			}
			if ans.Value.Total <= guess || ans.Value.Total <= int64(limit) && guess == 0 {
				return pageOf(page, ans.Value)
			}
			guess = ans.Value.Total
		}
	})
}

// read reads lines of the log.
func (s *logScreen) read(w World, request int, after int64, limit int) tea.Cmd {
	return w.Do(func(ctx context.Context, a API) tea.Msg {
		page := logview.Page{ID: s.route.Run, Request: request}
		ans, err := a.ReadLog(ctx, s.route.Challenge, s.route.Run, after, min(max(limit, 1), maxLogPage))
		if err != nil {
			page.Err = err
			return page
		}
		return pageOf(page, ans.Value)
	})
}

func pageOf(p logview.Page, l api.Log) logview.Page {
	p.Lines, p.Total, p.Ended = logLines(l.Lines), l.Total, l.Ended
	return p
}

func logLines(lines []protocol.LogLine) []logview.Line {
	all := make([]logview.Line, len(lines))
	for i, l := range lines {
		all[i] = logview.Line{N: l.N, At: l.At, Text: l.Text}
	}
	return all
}

// logBatch is lines that came by themselves, or the end of the stream.
type logBatch struct {
	run      string
	follower *Follower[protocol.LogLine]
	lines    []protocol.LogLine
	open     bool
	err      error
}

// logRetry asks for the stream again.
type logRetry struct{ run string }

// retryLog is how long a broken stream is left alone.
const retryLog = 5 * time.Second

// follow opens the stream after what is known, once that is.
func (s *logScreen) follow(w World) tea.Cmd {
	st := s.log.State()
	if s.following || s.closed || st.Ended || st.Err != nil {
		return nil
	}
	s.following = true
	after := st.Total
	return w.Do(func(ctx context.Context, a API) tea.Msg {
		f := Follow(ctx, func(ctx context.Context) iter.Seq2[protocol.LogLine, error] {
			return a.FollowLog(ctx, s.route.Challenge, s.route.Run, after)
		})
		return logBatch{run: s.route.Run, follower: f, open: true}
	})
}

// nextLines waits for more lines.
func nextLines(run string, f *Follower[protocol.LogLine]) tea.Cmd {
	return func() tea.Msg {
		lines, open, err := f.Next()
		return logBatch{run, f, lines, open, err}
	}
}

// came takes lines in and waits for more.
func (s *logScreen) came(w World, b logBatch) tea.Cmd {
	if b.run != s.route.Run || s.closed || s.follower != nil && b.follower != s.follower {
		b.follower.Close()
		return nil
	}
	s.follower = b.follower
	if crash, ok := errors.AsType[Crash](b.err); ok {
		return nav.To(crash)
	}
	if !b.open {
		s.follower, s.following = nil, false
		if b.err != nil {
			return w.After(retryLog, func(time.Time) tea.Msg { return logRetry{s.route.Run} })
		}
		return s.log.SetTotal(s.log.State().Total, true)
	}
	var cmd tea.Cmd
	if len(b.lines) > 0 {
		s.log, cmd = s.log.Update(logview.Page{ID: s.route.Run, Lines: logLines(b.lines)})
	}
	return tea.Batch(cmd, nextLines(s.route.Run, s.follower))
}

// whole writes the whole log.
func (s *logScreen) whole() Content {
	challenge, run := s.route.Challenge, s.route.Run
	return func(ctx context.Context, a API, out io.Writer) error {
		for after := int64(0); ; {
			ans, err := a.ReadLog(ctx, challenge, run, after, maxLogPage)
			if err != nil {
				return err
			}
			for _, l := range ans.Value.Lines {
				if _, err := fmt.Fprintf(out, "%s %s\n", l.At.UTC().Format(time.RFC3339), l.Text); err != nil {
					return err
				}
			}
			if len(ans.Value.Lines) == 0 || ans.Value.Next <= after {
				return nil
			}
			after = ans.Value.Next
		}
	}
}

// classify reads what a line says. A task that the model failed is no failure of
// the run: what is looked for with e is what went wrong.
func classify(text string) logview.Kind {
	switch {
	case strings.HasPrefix(text, "[PASS]"):
		return logview.Pass
	case strings.HasPrefix(text, "[ERR]"), strings.HasPrefix(text, "Traceback"), strings.Contains(text, "_FAILED"), strings.Contains(text, "CUDA out of memory"), errorLine(text), exitLine(text):
		return logview.Failure
	case strings.HasPrefix(text, "[WARN"), strings.HasPrefix(text, "WARNING"), strings.Contains(text, "Warning: "):
		return logview.Warning
	default:
		return logview.Plain
	}
}

// errorLine reports whether a line is the last of a Python traceback, such as
// RuntimeError: no space left.
func errorLine(text string) bool {
	head, _, ok := strings.Cut(text, ":")
	return ok && !strings.Contains(head, " ") && (strings.HasSuffix(head, "Error") || strings.HasSuffix(head, "Exception"))
}

// exitLine reports whether a line says that a step ended badly.
func exitLine(text string) bool {
	code, ok := strings.CutPrefix(text, "TRAINER_EXIT=")
	return ok && code != "0"
}
