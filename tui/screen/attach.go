package screen

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// Files is what the dashboard may read of this machine. The zero value is nothing.
type Files struct {
	// List names what is in a directory; names of directories end with a slash.
	List func(dir string) ([]string, error)
	// Read returns a file's content, and an error when that is more than limit bytes.
	Read func(name string, limit int64) ([]byte, error)
}

// attachScreen has the results of a collection's dynamic gates judged, shows the
// judgement, and only then attaches exactly what was judged.
type attachScreen struct {
	route nav.Route
	input textinput.Model
	found []string // names that the typed path can go on with

	reading string // the file that is being read and judged
	problem string // why it was not judged
	asked   api.AttachGates
	file    string // the file that asked holds
	answer  *api.AttachedGates

	list List
	rows map[string]protocol.TaskVerdict
	sent bool // it is being attached
}

func newAttach(r nav.Route) *attachScreen {
	in := textinput.New()
	in.Prompt = ""
	in.CharLimit = 4096
	in.KeyMap.Paste.SetEnabled(false)      // it would read the clipboard of this machine; terminals paste by themselves
	in.Cursor.SetMode(cursor.CursorStatic) // a blinking one would redraw an idle screen
	in.Focus()
	return &attachScreen{route: r, input: in, list: NewList()}
}

// Title is what is done.
func (s *attachScreen) Title(World) string { return "Attach gates" }

// Needs are the collection and what is attached to it now.
func (s *attachScreen) Needs(World) []Key {
	return []Key{CollectionsQuery().Key, GatesQuery(s.route.Challenge, s.route.Collection).Key}
}

// Scopes are those of the path.
func (s *attachScreen) Scopes(World) []Scope { return []Scope{OnAttach} }

// Typing is always so: the keys are a path.
func (s *attachScreen) Typing() bool { return true }

// pathFound brings what a typed path can go on with.
type pathFound struct {
	at    nav.Route
	typed string // the path that was asked about
	names []string
	err   error
}

// resultsJudged brings what the arena would make of a file.
type resultsJudged struct {
	at     nav.Route
	file   string
	asked  api.AttachGates
	answer api.AttachedGates
	err    error
}

// Update edits the path, has the file judged, and attaches it.
func (s *attachScreen) Update(w World, msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.KeyMsg:
		before := s.input.Value()
		s.input, _ = s.input.Update(msg)
		if s.input.Value() != before {
			s.found = nil
		}
	case Wheel:
		s.list.Wheel(msg.Rows)
	case Click:
		s.list.Click(msg.Y - attachHead - 1)
	case pathFound:
		if msg.at == s.route && msg.typed == s.input.Value() {
			cmd = s.complete(msg)
		}
	case resultsJudged:
		if msg.at == s.route && msg.file == s.reading {
			s.judged(msg)
		}
	case attaching:
		s.sent = s.sent || msg.at == s.route
	case Changed:
		if s.sent && msg.What == s.what() {
			if s.sent = false; msg.Err == nil {
				cmd = nav.To(nav.Back{})
			}
		}
	case Act:
		cmd = s.act(w, msg.Intent)
	}
	s.sync(w)
	return cmd
}

func (s *attachScreen) act(w World, i Intent) tea.Cmd {
	switch i {
	case Clear:
		return nav.To(nav.Back{})
	case Complete:
		return s.ask(w)
	case Choose:
		return s.judge(w)
	case Send:
		return s.confirm(w)
	default:
		s.list.Act(i)
		return nil
	}
}

// ask asks which names the typed path can go on with.
func (s *attachScreen) ask(w World) tea.Cmd {
	list, typed, at := w.Files.List, s.input.Value(), s.route
	if list == nil {
		return nav.Say(nav.Warned, "The dashboard may read no files here.")
	}
	return w.Do(func(context.Context, API) tea.Msg {
		dir, begin := path.Split(typed)
		names, err := list(dir)
		names = slices.DeleteFunc(names, func(n string) bool {
			return !strings.HasPrefix(n, begin) || begin == "" && strings.HasPrefix(n, ".") ||
				!strings.HasSuffix(n, "/") && !strings.HasSuffix(n, ".json")
		})
		slices.Sort(names)
		return pathFound{at, typed, names, err}
	})
}

// complete takes the part that all names have in common into the path.
func (s *attachScreen) complete(f pathFound) tea.Cmd {
	s.found = nil
	switch {
	case f.err != nil:
		return nav.Say(nav.Warned, sentence(f.err.Error()))
	case len(f.names) == 0:
		return nav.Say(nav.Warned, "There is no directory or .json file that begins so.")
	}
	dir, begin := path.Split(f.typed)
	common := f.names[0]
	for _, n := range f.names[1:] {
		for !strings.HasPrefix(n, common) {
			common = common[:len(common)-1]
		}
	}
	if len(common) > len(begin) {
		s.input.SetValue(dir + strings.ToValidUTF8(common, ""))
		s.input.CursorEnd()
	}
	if len(f.names) > 1 {
		s.found = f.names
	}
	return nil
}

// judge reads the file and has the arena judge it without storing anything.
func (s *attachScreen) judge(w World) tea.Cmd {
	read, file, at := w.Files.Read, strings.TrimSpace(s.input.Value()), s.route
	switch {
	case read == nil:
		return nav.Say(nav.Warned, "The dashboard may read no files here.")
	case file == "":
		return nav.Say(nav.Warned, "Type the path of the file that arena gates collect wrote; tab completes it.")
	case s.sent:
		return nav.Say(nav.Warned, "The results are being attached.")
	}
	s.reading, s.problem, s.answer, s.found = file, "", nil, nil
	return w.Do(func(ctx context.Context, a API) tea.Msg {
		j := resultsJudged{at: at, file: file}
		raw, err := read(file, api.MaxResults)
		if err == nil {
			j.asked, err = parseResults(raw)
		}
		if err == nil {
			j.asked.DryRun = true
			ans, asked := a.AttachGates(ctx, at.Challenge, at.Collection, j.asked)
			j.answer, err = ans.Value, asked
		}
		j.err = err
		return j
	})
}

// parseResults reads the one JSON value that a file of results holds.
func parseResults(raw []byte) (r api.AttachGates, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("the file does not hold results as arena gates collect writes them: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return r, fmt.Errorf("the file holds more than one JSON value")
	}
	return r, nil
}

func (s *attachScreen) judged(j resultsJudged) {
	s.reading = ""
	if j.err != nil {
		s.problem = sentence(j.err.Error())
		return
	}
	s.asked, s.file, s.answer = j.asked, j.file, &j.answer
}

// what names the action, for the answer to be known again.
func (s *attachScreen) what() string { return "attach gate results to " + shortID(s.route.Collection) }

// confirm asks before what was judged is attached.
func (s *attachScreen) confirm(w World) tea.Cmd {
	switch {
	case s.sent:
		return nav.Say(nav.Warned, "The results are being attached.")
	case s.answer == nil:
		return nav.Say(nav.Warned, "Have the file judged first, with enter: what will be attached is then shown.")
	case strings.TrimSpace(s.input.Value()) != s.file:
		return nav.Say(nav.Warned, "The path is another than the one that was judged: enter judges it.")
	}
	req, at, what, a := s.asked, s.route, s.what(), *s.answer
	req.DryRun = false
	send := w.Do(func(ctx context.Context, c API) tea.Msg {
		ans, err := c.AttachGates(ctx, at.Challenge, at.Collection, req)
		m := Changed{What: what, Err: err}
		if err == nil {
			m.Attached = &ans.Value
			m.Said = fmt.Sprintf("Version %d of the verdict is attached: %s.", ans.Value.Verdict.Version, decisions(ans.Value.Decisions))
		}
		return m
	})
	return nav.To(nav.Ask{
		Title: "Attach these results?", Do: "Attach", Object: s.file + " to " + at.Collection,
		Effect: fmt.Sprintf("It becomes version %d of the verdict for %s: %s. Earlier versions are kept; a version is never changed.", a.Verdict.Version, at.Challenge, decisions(a.Decisions)),
		Then:   tea.Batch(nav.To(attaching{at}), send),
	})
}

// attaching says that the person agreed.
type attaching struct{ at nav.Route }

// decisions counts tasks by decision, in words.
func decisions(d api.Decisions) string {
	return fmt.Sprintf("%d accepted, %d rejected, %d inconclusive", d.Accepted, d.Rejected, d.Inconclusive)
}

func (s *attachScreen) sync(w World) {
	var tasks []protocol.TaskVerdict
	version := int64(0)
	if s.answer != nil {
		tasks = byDecision(s.answer.Verdict.Tasks)
		version = int64(len(tasks))<<32 | int64(len(s.file))
	}
	s.list.Size(max(w.Height-attachHead-1-attachDetail, 1))
	s.list.Set(version, func() (ids []string) {
		s.rows = map[string]protocol.TaskVerdict{}
		for _, v := range tasks {
			ids = append(ids, v.Task)
			s.rows[v.Task] = v
		}
		return ids
	}, nil)
}

// byDecision sorts verdicts, what is not accepted first.
func byDecision(all []protocol.TaskVerdict) []protocol.TaskVerdict {
	order := []protocol.Decision{protocol.TaskRejected, protocol.TaskInconclusive, protocol.TaskAccepted}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b protocol.TaskVerdict) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Decision), slices.Index(order, b.Decision)), cmp.Compare(a.Task, b.Task))
	})
	return all
}

// Subject is the collection.
func (s *attachScreen) Subject(World) Subject {
	return Subject{What: "collection", ID: s.route.Collection, Command: []string{
		"gates", "attach", "--challenge", s.route.Challenge, "--id", s.route.Collection, "--file", or(s.input.Value(), "results.json"),
	}}
}

// The rows above the list, and those that say the selected verdict in full.
const (
	attachHead   = 7
	attachDetail = 7
)

// View draws the path, then what the arena would make of the file.
func (s *attachScreen) View(w World) string {
	t := w.Theme
	e := collectionsByID(w.Data)[s.route.Collection]
	rows := []string{
		line(t, w.Width, cell{or(e.TeamName, e.Author), look.Strong}, text("  "+or(e.Title, s.route.Collection)), cell{" for " + s.route.Challenge, look.Dim}),
		line(t, w.Width, cell{s.present(w), look.Dim}),
		"",
		s.pathRow(w),
	}
	rows = append(rows, s.below(w)...)
	columns := verdictColumns()
	widths := arrange(columns, w.Width-2)
	rows = append(rows, "  "+headOf(t, columns, widths))
	rows = append(rows, s.list.Rows(t, w.Width, func(id string, _ int) string {
		return rowOf(t, columns, widths, verdictCells(t, s.rows[id]))
	})...)
	for len(rows) < w.Height-attachDetail {
		rows = append(rows, "")
	}
	id, _ := s.list.Selected()
	rows = append(rows, t.Paint(look.Faint, strings.Repeat(t.Rule, w.Width)))
	if v, ok := s.rows[id]; ok {
		for _, d := range verdictDetail(v) {
			rows = append(rows, celltext.Wrap(d, w.Width)...)
		}
	}
	return block(rows, w.Height)
}

// present says what is attached now.
func (s *attachScreen) present(w World) string {
	g, ok := Read(w.Data, GatesQuery(s.route.Challenge, s.route.Collection))
	switch {
	case !ok:
		return "Asking what is attached."
	case g.Verdict == nil:
		return "Nothing is attached yet."
	default:
		return fmt.Sprintf("Attached: version %d by %s, %s ago.", g.Verdict.Version, g.Verdict.AttachedBy, Ago(w.Now, g.Verdict.AttachedAt))
	}
}

// pathRow is the path as it is typed, its end in view.
func (s *attachScreen) pathRow(w World) string {
	label := "Results file: "
	room := max(w.Width-celltext.Width(label)-1, 1)
	typed, at := []rune(s.input.Value()), s.input.Position()
	before, after := celltext.Clean(string(typed[:at])), celltext.Clean(string(typed[at:]))
	for celltext.Width(before) > room*3/4 {
		_, n := firstRune(before)
		before = before[n:]
	}
	under := " "
	if r, n := firstRune(after); n > 0 {
		under, after = r, after[n:]
	}
	return line(w.Theme, w.Width, cell{label, look.Accent}, text(before), cell{under, look.Select}, text(after))
}

// firstRune is the first character of a text and its size; 0 for none.
func firstRune(s string) (string, int) {
	for _, r := range s {
		return string(r), len(string(r))
	}
	return "", 0
}

// below says what came of the path: names to go on with, a problem, the judgement.
func (s *attachScreen) below(w World) []string {
	t := w.Theme
	switch {
	case len(s.found) > 0:
		return []string{line(t, w.Width, cell{"  " + strings.Join(s.found, "  "), look.Dim}), ""}
	case s.reading != "":
		return []string{line(t, w.Width, cell{"  " + t.Stale + " The arena judges it; nothing is stored.", look.Warn}), ""}
	case s.problem != "":
		rows := celltext.Wrap(s.problem, w.Width-4)
		rows = append(rows, "")[:2]
		return []string{line(t, w.Width, cell{"  " + t.Failed + " " + rows[0], look.Bad}), line(t, w.Width, cell{"    " + rows[1], look.Bad})}
	case s.answer == nil:
		return []string{line(t, w.Width, cell{"  enter has it judged and stores nothing; then ctrl+s attaches what was judged.", look.Dim}), ""}
	}
	a := s.answer
	binding := fmt.Sprintf("    %s, of commit %s, plan %s, gates %s", counted(len(s.asked.Trials), "trial"), short(a.Verdict.Revision), short(strings.TrimPrefix(a.Verdict.PlanDigest, "sha256:")), a.Verdict.GateSet)
	return []string{
		line(t, w.Width, cell{"  " + t.Pending + " Not attached. As version " + fmt.Sprint(a.Verdict.Version) + ": ", look.Warn}, cell{decisions(a.Decisions), look.Strong}),
		line(t, w.Width, cell{binding, look.Dim}),
	}
}

func verdictColumns() []column {
	return []column{{title: "Decision", width: 14}, {title: "Task", width: 24, flex: 1}, {title: "Band", width: 6, right: true}, {title: "Reasons", width: 24, flex: 2}}
}

// verdictCells draws a task's verdict in columns.
func verdictCells(t look.Theme, v protocol.TaskVerdict) []cell {
	band := ""
	if v.BandPassRate != nil {
		band = percent(*v.BandPassRate)
	}
	return []cell{decisionMark(t, v.Decision).cell(), text(v.Task), text(band), {strings.Join(v.Reasons, "; "), look.Dim}}
}

// verdictDetail says a task's verdict in sentences: its reasons, and what each gate
// counted.
func verdictDetail(v protocol.TaskVerdict) []string {
	all := slices.Clone(v.Reasons)
	for _, g := range v.Gates {
		all = append(all, fmt.Sprintf("%s %s: %d of %d passed, %d failed, %d open", g.Gate, g.Decision, g.Passed, g.Planned, g.Failed, g.Open))
	}
	return all
}
