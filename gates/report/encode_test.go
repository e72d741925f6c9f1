package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/report"
)

// encoders are all formats, as they are called for the sample report.
func encoders() map[string]func(io.Writer, report.Report) error {
	locate := func(f report.Finding) string {
		if f.Task == "" {
			return f.Path
		}
		return "envs/" + report.TaskPath(f)
	}
	return map[string]func(io.Writer, report.Report) error{
		"text.txt": func(w io.Writer, r report.Report) error {
			return report.Text(w, r, report.TextOptions{Source: sampleSource, Locate: locate})
		},
		"colour.txt": func(w io.Writer, r report.Report) error {
			return report.Text(w, r, report.TextOptions{Colour: true, Source: sampleSource})
		},
		"report.json":   report.JSON,
		"report.sarif":  func(w io.Writer, r report.Report) error { return report.SARIF(w, r, sampleRules(), locate) },
		"github.txt":    func(w io.Writer, r report.Report) error { return report.GitHub(w, r, locate) },
		"markdown.md":   func(w io.Writer, r report.Report) error { return report.Markdown(w, r, locate) },
		"compact.json":  func(w io.Writer, r report.Report) error { return report.JSON(w, r.Compact()) },
		"compact.sarif": func(w io.Writer, r report.Report) error { return report.SARIF(w, r.Compact(), nil, nil) },
	}
}

func TestGolden(t *testing.T) {
	for name, encode := range encoders() {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := encode(&got, sample()); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name)
			if os.Getenv("ARENA_UPDATE") == "1" {
				if err := os.WriteFile(golden, got.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("output differs from %s; set ARENA_UPDATE=1 if it should (-want +got):\n%s", golden, diff)
			}
		})
	}
}

func TestJSONReadsBack(t *testing.T) {
	var b bytes.Buffer
	if err := report.JSON(&b, sample()); err != nil {
		t.Fatal(err)
	}
	var back report.Report
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	if err := d.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), back); diff != "" {
		t.Errorf("the report changed on its way through JSON (-want +got):\n%s", diff)
	}
}

// hostile is a report whose every text tries to escape from its place.
func hostile(text string) report.Report {
	r := report.Report{
		GateSet: text, Version: text, PolicyDigest: text,
		TaskIdentity:   map[string]report.Identity{text: {ContentHash: text, AuthorName: text}},
		Findings:       []report.Finding{{Code: text, Severity: report.Review, Task: text, Path: text, Line: 3, Column: 2, Message: text, Fix: text}},
		CreditWarnings: []report.CreditWarning{{Field: text, Message: text}},
		Problems:       []report.Finding{{Code: text, Severity: report.Error, Path: text, Message: text, Fix: text}},
	}
	r.Tally()
	return r
}

// check reports what a format must never let through.
func check(t *testing.T, text string) {
	t.Helper()
	r := hostile(text)
	source := func(report.Finding) (string, bool) { return text, true }
	var plain, github, markdown, sarif, jsonText bytes.Buffer
	err := errors.Join(
		report.Text(&plain, r, report.TextOptions{Source: source}), report.GitHub(&github, r, nil),
		report.Markdown(&markdown, r, nil), report.SARIF(&sarif, r, nil, nil), report.JSON(&jsonText, r),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{plain.String(), markdown.String()} {
		if i := strings.IndexFunc(out, func(c rune) bool { return c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) }); i >= 0 {
			t.Errorf("a control character reached the output: %q", out[i:])
		}
	}
	command := regexp.MustCompile(`^::(error|warning|notice) (file=[^,:\r\n]*(,line=\d+)?(,col=\d+)?,)?title=[^,:\r\n]*::[^\r\n]*$`)
	lines := strings.Split(strings.TrimSuffix(github.String(), "\n"), "\n")
	if len(lines) != 4 {
		t.Errorf("four workflow commands became %d lines", len(lines))
	}
	for _, line := range lines {
		if !command.MatchString(line) {
			t.Errorf("not one workflow command: %q", line)
		}
	}
	if strings.ContainsAny(withoutCode(markdown.String()), "<>@") {
		t.Errorf("markdown holds markup or a mention: %q", markdown.String())
	}
	if !json.Valid(jsonText.Bytes()) {
		t.Error("invalid JSON")
	}
	checkSARIF(t, sarif.Bytes())
}

// withoutCode removes code spans as Markdown pairs them: a run of backticks up to the next run of the same length.
func withoutCode(s string) string {
	var b strings.Builder
	runs := regexp.MustCompile("`+")
	for {
		open := runs.FindStringIndex(s)
		if open == nil {
			return b.String() + s
		}
		if open[0] > 0 && s[open[0]-1] == '\\' {
			b.WriteString(s[:open[0]+1])
			s = s[open[0]+1:]
			continue
		}
		b.WriteString(s[:open[0]])
		rest := s[open[1]:]
		end := -1
		for _, shut := range runs.FindAllStringIndex(rest, -1) {
			if shut[1]-shut[0] == open[1]-open[0] {
				end = shut[1]
				break
			}
		}
		if end < 0 {
			return b.String() + rest
		}
		s = rest[end:]
	}
}

func TestNothingEscapes(t *testing.T) {
	for name, text := range map[string]string{
		"terminal control":    "\x1b[31m\x07\r\x00\x9b31m",
		"line breaks":         "a\nb\r\n::error::c\u2028d\u0085",
		"workflow separators": "a,b:c%0Ad::set-output name=x::y",
		"html and mentions":   "<script>alert(1)</script> @team &lt;",
		"markdown":            "`x` ``y`` *b* _i_ [l](u) | # h\n- item ~~s~~ $m$ \\",
		"text direction":      "abc\u202edcb\u2066x\u200f",
		"not utf-8":           "\xff\xfe\xc0",
		"empty":               "",
		"address-like path":   "javascript:alert(1)//%2e%2e",
		"windows":             `..\..\x`,
	} {
		t.Run(name, func(t *testing.T) { check(t, text) })
	}
}

func FuzzEncoders(f *testing.F) {
	f.Add("::error::x\n")
	f.Add("`\x1b[0m`|<a>")
	f.Fuzz(func(t *testing.T, text string) { check(t, text) })
}

func TestSnippetOfLongLineIsShort(t *testing.T) {
	long := strings.Repeat("x", 5<<20) + "HERE" + strings.Repeat("y", 5<<20)
	r := hostile("a")
	for column := range map[int]bool{1: true, 5<<20 + 1: true, 10 << 20: true, 20 << 20: true, 0: true} {
		r.Findings[0].Column = column
		var b bytes.Buffer
		err := report.Text(&b, r, report.TextOptions{Source: func(report.Finding) (string, bool) { return long, true }})
		if err != nil {
			t.Fatal(err)
		}
		if b.Len() > 2000 {
			t.Errorf("column %d: a snippet of %d bytes", column, b.Len())
		}
		if column == 5<<20+1 && !strings.Contains(b.String(), "xHERE") {
			t.Errorf("the snippet does not show the column: %s", b.String())
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestEncodersReportWriteErrors(t *testing.T) {
	for name, encode := range encoders() {
		if err := encode(brokenPipe{}, sample()); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: error %v; want the writer's", name, err)
		}
	}
}
