package task

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// reserved matches the headings that split the body of task.md into sections; the pipeline compares them without
// case (reference 1.4).
var reserved = regexp.MustCompile(`(?i)^##[ \t]+(prompt|user-persona|role:\S+|scene:\S+)[ \t]*$`)

// document is a task.md cut into frontmatter and body. Lines are 1-based lines of the file.
type document struct {
	front     string
	frontLine int
	body      string
	bodyLine  int
}

// splitDocument cuts text, which must use LF line ends, at its dashes. Without frontmatter the whole text is the body.
func splitDocument(text string) (document, error) {
	all := document{body: text, bodyLine: 1}
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return all, &syntaxError{1, "task.md does not begin with YAML frontmatter", "make the first line ---, then the keys, then another --- line"}
	}
	offset, line := 0, 2
	for l := range strings.Lines(rest) {
		if strings.TrimRight(l, " \t\n") == "---" {
			return document{rest[:offset], 2, rest[offset+len(l):], line + 1}, nil
		}
		offset += len(l)
		line++
	}
	return all, &syntaxError{1, "the frontmatter of task.md is not closed", "add a --- line after the keys"}
}

// section is a part of the body under one reserved heading. The first section has no name and holds what stands
// before any heading.
type section struct {
	name    string // lower case, such as "prompt" or "role:critic"
	heading int    // line of the heading; 0 for the first section
	text    string // without blank lines around it
	line    int    // line on which text begins
}

// splitSections cuts a body at its reserved headings. Headings inside code fences are text; their lines are returned,
// because the pipeline's own reader would cut there.
func splitSections(body string, firstLine int) (sections []section, fenced []int) {
	current := section{line: firstLine}
	var text strings.Builder
	flush := func() {
		current.text = text.String()
		current.trim()
		sections = append(sections, current)
		text.Reset()
	}
	fence := ""
	line := firstLine
	for l := range strings.Lines(body) {
		fence = nextFence(fence, l)
		match := reserved.FindStringSubmatch(strings.TrimRight(l, "\n"))
		switch {
		case match != nil && fence != "":
			fenced = append(fenced, line)
			text.WriteString(l)
		case match != nil:
			flush()
			current = section{name: strings.ToLower(match[1]), heading: line, line: line + 1}
		default:
			text.WriteString(l)
		}
		line++
	}
	flush()
	return sections, fenced
}

// trim drops blank lines around a section's text.
func (s *section) trim() {
	for {
		first, rest, found := strings.Cut(s.text, "\n")
		if !found || strings.TrimSpace(first) != "" {
			break
		}
		s.text = rest
		s.line++
	}
	s.text = strings.TrimRight(s.text, " \t\n")
}

// nextFence returns the marker of the code fence that is open after a line, given the one open before it.
func nextFence(open, line string) string {
	text := strings.TrimRight(line, " \t\n")
	if indent := len(text) - len(strings.TrimLeft(text, " ")); indent > 3 {
		return open
	}
	text = strings.TrimLeft(text, " ")
	if text == "" || (text[0] != '`' && text[0] != '~') {
		return open
	}
	info := strings.TrimLeft(text, text[:1])
	marker := text[:len(text)-len(info)]
	switch {
	case len(marker) < 3:
		return open
	case open == "" && (marker[0] == '~' || !strings.Contains(info, "`")):
		return marker
	case open != "" && marker[0] == open[0] && len(marker) >= len(open) && info == "":
		return ""
	}
	return open
}

// decodeText turns the bytes of a text file into a string with LF line ends. It reports what is wrong with the
// encoding; a byte order mark is removed and reported as well.
func decodeText(raw []byte) (text string, bom bool, err error) {
	text = string(raw)
	text, bom = strings.CutPrefix(text, "\ufeff")
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		line := 1 + strings.Count(text[:firstBadByte(text)], "\n")
		fix := "save the file as UTF-8"
		if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
			fix = "the file looks like UTF-16; save it as UTF-8"
		}
		return "", bom, &syntaxError{line, "the file is not UTF-8 text", fix}
	}
	return strings.ReplaceAll(text, "\r\n", "\n"), bom, nil
}

func firstBadByte(s string) int {
	for i, r := range s {
		if r == 0 || (r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD")) {
			return i
		}
	}
	return len(s)
}
