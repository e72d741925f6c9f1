package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// TextOptions chooses how [Text] prints.
type TextOptions struct {
	Colour bool    // ANSI colours, for a terminal
	Locate Locator // nil means TaskPath
	// Source returns the text of the line that a finding points at, for the snippet below it. Nil, or false, prints
	// no snippet.
	Source func(Finding) (string, bool)
}

// snippetWidth is how many characters of a source line are shown.
const snippetWidth = 100

// Text writes the report for a person at a terminal: findings grouped by task, each with its place, a snippet with a
// caret and the fix; then whether the collection would be refused, and the summary last.
func Text(w io.Writer, r Report, o TextOptions) error {
	t := textWriter{sticky: sticky{w: w}, TextOptions: o}
	list := r.all()
	for i, f := range list {
		if i == 0 || f.Task != list[i-1].Task {
			t.heading(f.Task)
		}
		t.finding(f)
	}
	for _, c := range r.CreditWarnings {
		t.printf("%s %s\n", t.paint(Warning, "credit"), visible(c.Message))
	}
	if len(r.CreditWarnings) > 0 {
		t.printf("\n")
	}
	if text := refusal(r); text != "" {
		t.printf("%s\n", t.paint(Error, text))
	}
	t.printf("%s\n%s\n", Headline(r.Summary), t.dim(visible(fmt.Sprintf("%s %s, policy %s", r.GateSet, r.Version, r.PolicyDigest))))
	if t.err != nil {
		return fmt.Errorf("write report as text: %w", t.err)
	}
	return nil
}

type textWriter struct {
	sticky
	TextOptions
}

func (t *textWriter) heading(task string) {
	if task == "" {
		task = "collection"
	}
	t.printf("%s\n", t.bold(visible(task)))
}

func (t *textWriter) finding(f Finding) {
	place := visible(t.Locate.of(f))
	if f.Line > 0 {
		place += ":" + strconv.Itoa(f.Line)
		if f.Column > 0 {
			place += ":" + strconv.Itoa(f.Column)
		}
	}
	t.printf("  %s %s  %s\n", t.paint(f.Severity, fmt.Sprintf("%-8s", f.Severity)), t.bold(visible(f.Code)), place)
	if f.Message != "" {
		t.printf("    %s\n", visible(f.Message))
	}
	t.snippet(f)
	if f.Fix != "" {
		t.printf("    %s %s\n", t.dim("fix:"), visible(f.Fix))
	}
	t.printf("\n")
}

func (t *textWriter) snippet(f Finding) {
	if t.Source == nil || f.Line == 0 {
		return
	}
	line, ok := t.Source(f)
	if !ok || strings.TrimSpace(line) == "" {
		return
	}
	text, start, width := window(line, f.Column)
	number := strconv.Itoa(f.Line)
	margin := strings.Repeat(" ", len(number))
	t.printf("      %s %s\n", t.dim(number+" |"), text)
	t.printf("      %s %s%s\n", t.dim(margin+" |"), strings.Repeat(" ", start), t.paint(f.Severity, "^"+strings.Repeat("~", width-1)))
}

// window cuts a source line to what fits on a screen around a column (1-based code points, 0 for the whole line)
// and returns it with the offset and width of the marked part.
func window(line string, column int) (text string, start, width int) {
	line = strings.TrimRight(line, " \t\r\n")
	from := 0
	if column > snippetWidth/2 {
		from = column - snippetWidth/2
	}
	// Only this much of the line is ever looked at, so that a 10 MB line costs no more than a short one.
	runes := firstRunes(line, from+snippetWidth)
	from = min(from, len(runes))
	text = visible(string(runes[from:]))
	if column > 0 && column <= len(runes) {
		return text, len([]rune(visible(string(runes[from : column-1])))), 1
	}
	body := strings.TrimLeft(text, " ")
	return text, len([]rune(text)) - len([]rune(body)), max(1, len([]rune(body)))
}

// firstRunes returns at most the first n code points of s.
func firstRunes(s string, n int) []rune {
	runes := make([]rune, 0, min(n, len(s)))
	for _, r := range s {
		if len(runes) == n {
			break
		}
		runes = append(runes, r)
	}
	return runes
}

func (t *textWriter) ansi(code, s string) string {
	if !t.Colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t *textWriter) bold(s string) string { return t.ansi("1", s) }

func (t *textWriter) dim(s string) string { return t.ansi("2", s) }

func (t *textWriter) paint(v Severity, s string) string {
	switch v {
	case Error, Block, Reject:
		return t.ansi("31", s)
	case Controls, Warning:
		return t.ansi("33", s)
	default:
		return t.ansi("36", s)
	}
}
