package screen

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/widget/logview"
)

// logScreen shows a run's job log of any length. It reads pages of it as they are
// looked at, and follows its end while the run goes on.
type logScreen struct {
	route  nav.Route
	log    logview.Model
	opened bool // its end was asked for
	width  int
	height int
	stages int // stages that are chapters by now

	follower  *Follower[protocol.LogLine]
	following bool // the stream is open or being opened
	closed    bool

	input     textinput.Model
	searching bool
}

// LogTaste is how a person wants logs to be drawn, on every run's.
type LogTaste struct {
	Wrap  bool          `json:"wrap,omitempty"`
	Times logview.Times `json:"times,omitempty"`
}

// Sound is the taste without what there is no way to draw.
func (t LogTaste) Sound() LogTaste {
	if t.Times < logview.NoTimes || t.Times > logview.Relative {
		t.Times = logview.NoTimes
	}
	return t
}

func newRunLog(r nav.Route, t look.Theme) *logScreen {
	in := textinput.New()
	in.Prompt = ""
	in.CharLimit = 500
	in.KeyMap.Paste.SetEnabled(false) // it would read the clipboard of this machine; terminals paste by themselves
	in.Cursor.SetMode(cursor.CursorStatic)
	return &logScreen{route: r, input: in, log: logview.New(
		logview.WithID(r.Run), logview.WithASCII(t.ASCII()), logview.WithClassifier(classify), logview.WithHints("G", "esc"),
		logview.WithStyles(logview.Styles{
			Kinds: [4]lipgloss.Style{t.Style(look.Plain), t.Style(look.Good), t.Style(look.Plain), t.Style(look.Bad)},
			Time:  t.Style(look.Dim), Chapter: t.Style(look.Accent), Cursor: t.Style(look.Select), Selected: t.Style(look.Select), Match: t.Style(look.Match),
			Cut: t.Style(look.Dim), Status: t.Style(look.Dim), Alert: t.Style(look.Warn),
		}),
	)}
}

// Title is the part of the run.
func (s *logScreen) Title(World) string { return shortID(s.route.Run) + " log" }

// Needs is the run, for its stages and its end.
func (s *logScreen) Needs(World) []Key {
	return []Key{RunQuery(s.route.Challenge, s.route.Run).Key}
}

// Scopes are those of the search while it is typed, else of the log.
func (s *logScreen) Scopes(World) []Scope {
	if s.searching {
		return []Scope{OnSearch}
	}
	return []Scope{OnLog, InText}
}

// Typing reports whether a search is being typed.
func (s *logScreen) Typing() bool { return s.searching }

// Close ends the stream.
func (s *logScreen) Close() {
	s.closed = true
	if s.follower != nil {
		s.follower.Close()
	}
}

// Update drives the pane.
func (s *logScreen) Update(w World, msg tea.Msg) tea.Cmd {
	cmd := s.ready(w)
	switch msg := msg.(type) {
	case tea.KeyMsg:
		s.input, _ = s.input.Update(msg)
	case Wheel:
		return tea.Batch(cmd, s.log.Scroll(msg.Rows))
	case Click:
		return tea.Batch(cmd, s.log.Click(msg.Y))
	case Act:
		return tea.Batch(cmd, s.act(w, msg))
	case logview.NeedTail:
		if msg.ID == s.route.Run {
			return tea.Batch(cmd, s.readTail(w, msg))
		}
	case logview.NeedLines:
		if msg.ID == s.route.Run {
			return tea.Batch(cmd, s.read(w, msg.Request, msg.After, msg.Limit))
		}
	case logview.Page:
		var more tea.Cmd
		s.log, more = s.log.Update(msg)
		return tea.Batch(cmd, more, s.follow(w))
	case logview.Step:
		var more tea.Cmd
		s.log, more = s.log.Update(msg)
		return tea.Batch(cmd, more)
	case logBatch:
		return tea.Batch(cmd, s.came(w, msg))
	case logRetry:
		if msg.run == s.route.Run {
			return tea.Batch(cmd, s.follow(w))
		}
	}
	return cmd
}

// ready asks for the end of the log when the screen is first shown, and keeps the
// pane's size and chapters.
func (s *logScreen) ready(w World) tea.Cmd {
	r, known := Read(w.Data, RunQuery(s.route.Challenge, s.route.Run))
	var cmds []tea.Cmd
	if !s.opened {
		s.opened = true
		s.width, s.height = w.Width, s.logHeight(w)
		cmds = append(cmds, s.log.SetSize(s.width, s.height), s.log.Init())
		if w.LogTaste.Times != logview.NoTimes {
			cmds = append(cmds, s.log.SetTimes(w.LogTaste.Times))
		}
		if w.LogTaste.Wrap {
			cmds = append(cmds, s.log.ToggleWrap())
		}
	}
	if h := s.logHeight(w); s.width != w.Width || s.height != h {
		s.width, s.height = w.Width, h
		cmds = append(cmds, s.log.SetSize(s.width, s.height))
	}
	if known && len(r.Stages) != s.stages {
		s.stages = len(r.Stages)
		var chapters []logview.Chapter
		for _, p := range r.Stages {
			if p.StartedAt != nil {
				chapters = append(chapters, logview.Chapter{Name: string(p.Stage), At: *p.StartedAt})
			}
		}
		s.log.SetChapters(chapters)
		s.log.SetBase(or1(r.StartedAt, r.CreatedAt), w.Zone)
	}
	return tea.Batch(cmds...)
}

// logHeight is the room for the pane: the search line takes one row.
func (s *logScreen) logHeight(w World) int {
	if s.searching {
		return max(w.Height-1, 1)
	}
	return w.Height
}

// act does what a key asks for.
func (s *logScreen) act(w World, a Act) tea.Cmd {
	if cmd, ok := s.move(a.Intent); ok {
		st := s.log.State()
		*w.LogTaste = LogTaste{Wrap: st.Wrap, Times: st.Times}
		return cmd
	}
	switch a.Intent {
	case GotoLine:
		n, err := strconv.ParseInt(a.Argument, 10, 64)
		if err != nil {
			return nav.Say(nav.Warned, "Which line? Type its number after the words.")
		}
		return s.log.GotoLine(n)
	case Search:
		if a.Argument != "" {
			return s.search(a.Argument)
		}
		s.searching = true
		s.input.SetValue("")
		s.input.Focus()
		return s.ready(w)
	case Keep:
		s.searching = false
		return tea.Batch(s.ready(w), s.search(s.input.Value()))
	case Clear:
		s.searching = false
		return s.ready(w)
	case Back:
		return s.back()
	case Save:
		return w.Save(s.route.Run+".log", s.whole())
	case Pager:
		return w.Pager(s.route.Run+".log", s.whole())
	default:
		return nil
	}
}

// move does what is about the place in the log.
func (s *logScreen) move(i Intent) (tea.Cmd, bool) {
	moves := map[Intent]func() tea.Cmd{
		Up: s.log.Up, Down: s.log.Down, PageUp: s.log.PageUp, PageDown: s.log.PageDown, HalfUp: s.log.HalfUp, HalfDown: s.log.HalfDown,
		Top: s.log.Home, Bottom: s.log.End, FollowEnd: s.log.ToggleFollow, Wrap: s.log.ToggleWrap, Times: s.log.CycleTimes,
		NextMatch: s.log.NextMatch, PrevMatch: s.log.PrevMatch, NextError: s.log.NextFailure, PrevError: s.log.PrevFailure,
		Levels: s.log.CycleLevel, Choose: s.context,
		NextChapter: s.log.NextChapter, PrevChapter: s.log.PrevChapter,
		Left:       func() tea.Cmd { s.log.Left(); return nil },
		Right:      func() tea.Cmd { s.log.Right(); return nil },
		SelectRows: func() tea.Cmd { s.log.ToggleSelection(); return nil },
	}
	move, ok := moves[i]
	if !ok {
		return nil, false
	}
	return move(), true
}

// context goes from a line among failures to the same line among all.
func (s *logScreen) context() tea.Cmd {
	if n := s.log.State().Cursor; n != 0 && s.log.Level() != logview.AllLines {
		return s.log.GotoLine(n)
	}
	return nil
}

// back ends a search, a selection or what was found before it leaves.
func (s *logScreen) back() tea.Cmd {
	switch {
	case s.log.Stop(), s.log.ClearSelection():
		return nil
	case s.log.Level() != logview.AllLines:
		return s.log.SetLevel(logview.AllLines)
	case s.log.Query() != "":
		s.log.ClearSearch()
		return nil
	default:
		return nav.To(nav.Back{})
	}
}

// search looks for what was typed: /text/ is a regular expression.
func (s *logScreen) search(query string) tea.Cmd {
	if query == "" {
		return nil
	}
	regex := len(query) > 2 && strings.HasPrefix(query, "/") && strings.HasSuffix(query, "/")
	if regex {
		query = query[1 : len(query)-1]
	}
	cmd, err := s.log.Search(query, regex)
	if err != nil {
		return nav.Say(nav.Warned, "The expression cannot be used: "+err.Error())
	}
	return cmd
}

// Subject is the selected lines, else the line under the cursor.
func (s *logScreen) Subject(World) Subject {
	sub := Subject{What: "log lines", Command: []string{"log", s.route.Run, "--challenge", s.route.Challenge}}
	text, _ := s.log.SelectedText()
	first, last := s.log.Selection()
	sub.ID = strings.TrimSuffix(text, "\n")
	if first == last {
		sub.What = "log line"
	}
	return sub
}

// View draws the pane, and the search while it is typed.
func (s *logScreen) View(w World) string {
	v := s.log.View()
	if !s.searching {
		return v
	}
	t := w.Theme
	return v + "\n" + line(t, w.Width, cell{"/", look.Accent}, text(s.input.Value()), cell{" ", look.Select}, cell{"  text, or /regular expression/; a capital letter makes case matter", look.Dim})
}
