package gates

import (
	"bytes"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

// SourceLine returns a function that finds the line of text a finding points at, as report.TextOptions wants it. A
// line with a credential is never shown: reports end in logs that more people read than the file.
func SourceLine(pkgs []task.Package) func(report.Finding) (string, bool) {
	byName := map[string]*task.Package{}
	for i := range pkgs {
		byName[pkgs[i].Name] = &pkgs[i]
	}
	return func(f report.Finding) (string, bool) {
		p, ok := byName[f.Task]
		if !ok || f.Line < 1 || f.Code == "secret" {
			return "", false
		}
		text, err := p.ReadText(f.Path)
		if err != nil {
			return "", false
		}
		for range f.Line - 1 {
			_, rest, found := bytes.Cut(text, []byte("\n"))
			if !found {
				return "", false
			}
			text = rest
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		return string(line), true
	}
}
