package report

import (
	"fmt"
	"io"
	"strings"
)

// GitHub writes the report as workflow commands, which GitHub Actions shows as annotations on the files of a pull
// request. Locate must give paths relative to the repository's root; nil means TaskPath.
func GitHub(w io.Writer, r Report, locate Locator) error {
	out := sticky{w: w}
	for _, f := range r.all() {
		place := "file=" + property(locate.of(f))
		if f.Line > 0 {
			place += fmt.Sprintf(",line=%d", f.Line)
		}
		if f.Column > 0 {
			place += fmt.Sprintf(",col=%d", f.Column)
		}
		text := f.Message
		if f.Fix != "" {
			text += "\nFix: " + f.Fix
		}
		out.printf("::%s %s,title=%s::%s\n", command(f.Severity), place, property(f.Code), data(text))
	}
	for _, c := range r.CreditWarnings {
		out.printf("::warning title=credit::%s\n", data(c.Message))
	}
	out.printf("::notice title=%s::%s\n", property(r.GateSet), data(Headline(r.Summary)))
	if out.err != nil {
		return fmt.Errorf("write report as workflow commands: %w", out.err)
	}
	return nil
}

// command maps a severity to one of the three annotation levels.
func command(s Severity) string {
	switch s {
	case Error, Block, Reject:
		return "error"
	case Controls, Warning:
		return "warning"
	default:
		return "notice"
	}
}

// data escapes the message of a workflow command: a raw line break would end it and let the rest speak as commands.
func data(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(visible(line), "%", "%25")
	}
	return strings.Join(lines, "%0A")
}

// property escapes a parameter of a workflow command, where colon and comma are separators as well.
func property(s string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C").Replace(visible(s))
}
