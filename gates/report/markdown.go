package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// Markdown writes the report for a pull request comment or a page. Locate gives the shown paths; nil means TaskPath.
func Markdown(w io.Writer, r Report, locate Locator) error {
	out := sticky{w: w}
	out.printf("## Static gates (%s)\n\n%s\n", mdText(r.GateSet), mdText(Headline(r.Summary)))
	if text := refusal(r); text != "" {
		out.printf("\n**%s**\n", mdText(text))
	}
	list := r.all()
	for i, f := range list {
		if i == 0 || f.Task != list[i-1].Task {
			task := f.Task
			if task == "" {
				task = "collection"
			}
			out.printf("\n### %s\n\n", mdText(task))
		}
		place := locate.of(f)
		if f.Line > 0 {
			place += ":" + strconv.Itoa(f.Line)
		}
		out.printf("- **%s** %s in %s", mdText(string(f.Severity)), mdCode(f.Code), mdCode(place))
		if f.Message != "" {
			out.printf(": %s", mdText(f.Message))
		}
		if f.Fix != "" {
			out.printf("\n  *Fix:* %s", mdText(f.Fix))
		}
		out.printf("\n")
	}
	if len(r.CreditWarnings) > 0 {
		out.printf("\n### Credit\n\n")
	}
	for _, c := range r.CreditWarnings {
		out.printf("- %s\n", mdText(c.Message))
	}
	out.printf("\n%s version %s, policy %s\n", mdText(r.GateSet), mdText(r.Version), mdCode(r.PolicyDigest))
	if out.err != nil {
		return fmt.Errorf("write report as markdown: %w", out.err)
	}
	return nil
}

// mdText escapes text so that Markdown shows it as it is: no emphasis, link, HTML, table cell or mention.
func mdText(s string) string {
	var b strings.Builder
	for _, r := range visible(s) {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '@':
			b.WriteString("&#64;") // a mention would notify a stranger
		case strings.ContainsRune("\\`*_[]|~$", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mdCode writes a code span whose fence is longer than any run of backticks inside.
func mdCode(s string) string {
	s = strings.ReplaceAll(visible(s), "|", "¦") // a bar would split a table cell even inside a span
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 || s == "" || unicode.IsSpace(rune(s[0])) {
		s = " " + s + " "
	}
	return fence + s + fence
}
