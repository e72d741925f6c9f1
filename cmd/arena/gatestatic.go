package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/overlap"
	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol/compose"
)

// gatesStaticCmd runs the static gates on a directory of this machine, without a
// server: the same report that validate and submit make.
type gatesStaticCmd struct {
	Dir           string   `arg:"" help:"A collection, a directory of task packages, or one package."`
	Format        string   `enum:"text,json,sarif,github,markdown" default:"text" help:"text, json, sarif, github or markdown."`
	Suite         []string `placeholder:"FILE" help:"A sealed suite to compare with, a suite.jsonl; may be repeated."`
	RequireOracle bool     `help:"Exclude tasks without a working reference solution, as gates-v1 did."`
	AnySize       bool     `help:"Also look at directories with more tasks and files than a collection may have."`
	Watch         bool     `help:"Run again whenever a file changes."`
}

// Run prints the report. It ends with 1 when the collection would be refused.
func (cmd *gatesStaticCmd) Run(ctx context.Context, env *environ) error {
	suites, err := cmd.suites()
	if err != nil {
		return err
	}
	for {
		before := signature(cmd.Dir)
		valid, err := cmd.once(env, suites)
		if !cmd.Watch {
			if err == nil && !valid {
				err = &verdict{code: exitError, text: "the collection would be refused"}
			}
			return err
		}
		if err != nil {
			env.say("arena: %s", err)
		}
		for signature(cmd.Dir) == before {
			if err := env.Sleep(ctx, time.Second); err != nil {
				return nil // an interrupt is how watching ends
			}
		}
		env.say("arena: changed at %s, running again", env.Now().Format(time.TimeOnly))
	}
}

// suites reads the sealed suites to compare with.
func (cmd *gatesStaticCmd) suites() (*overlap.Index, error) {
	var all []overlap.Suite
	for _, file := range cmd.Suite {
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			return nil, usagef("--suite %s: there is no such file; name a suite.jsonl", file)
		}
		suite, err := compose.ReadSealedSuite(filepath.Base(file), oneFile{file})
		if err != nil {
			return nil, usagef("--suite %s: %w", file, err)
		}
		out := overlap.Suite{ID: suite.ID}
		for _, t := range suite.Tasks {
			out.Tasks = append(out.Tasks, overlap.SealedTask{Name: t.Name, Prompt: t.Prompt, Evaluated: t.Evaluated})
		}
		all = append(all, out)
	}
	return overlap.NewIndex(all), nil
}

// oneFile shows one file of the machine as the suite.jsonl of a directory.
type oneFile struct{ path string }

// Open opens the file under its one name.
func (f oneFile) Open(name string) (fs.File, error) {
	if name != "suite.jsonl" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return os.Open(f.path)
}

// once reads the directory, runs the gates and prints the report. It says
// whether the collection would be accepted.
func (cmd *gatesStaticCmd) once(env *environ, sealed *overlap.Index) (bool, error) {
	root, err := os.OpenRoot(cmd.Dir)
	if err != nil {
		return false, usagef("read the directory: %w", err)
	}
	defer root.Close()
	limits := task.DefaultLimits()
	if cmd.AnySize {
		limits.MaxTasks, limits.MaxFiles, limits.MaxTotalBytes = 1_000_000, 10_000_000, 1<<40
	}
	col, problems, err := cmd.packages(root.FS(), limits)
	if err != nil {
		return false, err
	}
	r := gates.Against(col.Packages, sealed, gates.Options{RequireOracle: cmd.RequireOracle, Defaults: col.Submission.Defaults})
	r = gates.WithProblems(r, problems)
	errs, _ := gates.Messages(r, problems)
	locate := func(f report.Finding) string { return filepath.ToSlash(filepath.Join(cmd.Dir, col.Locate(f))) }
	if err := cmd.print(env, env.Stdout, r, locate, gates.SourceLine(col.Packages)); err != nil {
		return false, err
	}
	if cmd.Format == "text" && !cmd.Watch {
		env.say("%s", afterGates(r, cmd.Dir))
	}
	return len(errs) == 0, nil
}

// afterGates is what to do next: understand the worst finding, or rehearse.
func afterGates(r report.Report, dir string) string {
	for _, severity := range []report.Severity{report.Block, report.Reject} {
		for _, f := range r.Findings {
			if f.Severity == severity {
				if _, known := gates.Explain(f.Code); known {
					return next("gates", "explain", f.Code)
				}
			}
		}
	}
	return next("rehearse", dir)
}

// packages reads the collection. A directory that cannot be one as a whole has
// no packages and one problem.
func (cmd *gatesStaticCmd) packages(dir fs.FS, limits task.Limits) (task.Collection, []task.Problem, error) {
	tree, err := task.ReadTree(dir, limits)
	if bad, ok := errors.AsType[*task.TreeError](err); ok {
		return task.Collection{}, []task.Problem{bad.Problem()}, nil
	}
	if err != nil {
		return task.Collection{}, nil, err
	}
	if abs, err := filepath.Abs(cmd.Dir); err == nil {
		tree.Name = filepath.Base(abs)
	}
	col, problems := task.ReadPackages(tree, "", limits)
	return col, problems, nil
}

func (cmd *gatesStaticCmd) print(env *environ, w io.Writer, r report.Report, locate report.Locator, source func(report.Finding) (string, bool)) error {
	switch cmd.Format {
	case "json":
		return report.JSON(w, r)
	case "sarif":
		return report.SARIF(w, r, gates.Catalogue(), locate)
	case "github":
		return report.GitHub(w, r, locate)
	case "markdown":
		return report.Markdown(w, r, locate)
	default:
		return report.Text(w, r, report.TextOptions{Colour: env.StdoutTTY && env.Getenv("NO_COLOR") == "", Locate: locate, Source: source})
	}
}

// signature changes when a file below a directory does.
func signature(dir string) string {
	var b strings.Builder
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is gone by now, which is a change too
		}
		if info, err := d.Info(); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return b.String()
}

// gatesExplainCmd prints what a code means.
type gatesExplainCmd struct {
	Code string `arg:"" optional:"" help:"A code, such as oracle-in-image; without one, all codes are listed."`
}

// Run prints the catalogue's entry, or a line for every entry.
func (cmd *gatesExplainCmd) Run(env *environ) error {
	if cmd.Code == "" {
		for _, r := range gates.Catalogue() {
			if _, err := fmt.Fprintf(env.Stdout, "%-8s  %-26s  %s\n", r.Severity, r.Code, r.Title); err != nil {
				return err
			}
		}
		return nil
	}
	rule, ok := gates.Explain(strings.ReplaceAll(strings.ToLower(cmd.Code), "_", "-"))
	if !ok {
		return usagef("there is no code %q; arena gates explain lists all of them", cmd.Code)
	}
	_, err := fmt.Fprintf(env.Stdout, "%s (%s): %s\n\nWhat it means: %s\n\nWhy it matters: %s\n\nExample: %s\n\nFix: %s\n",
		rule.Code, rule.Severity, rule.Title, rule.Meaning, rule.Why, rule.Example, rule.Fix)
	return err
}
