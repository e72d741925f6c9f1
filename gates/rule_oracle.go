package gates

import (
	"mvdan.cc/sh/v3/syntax"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

// noOracle fires when the package has no reference solution where the pipeline looks for one.
func noOracle(_ *batch, s *subject) []report.Finding {
	if s.OraclePath != "" {
		return nil
	}
	place := "oracle/solve.sh"
	if s.Format == task.Harbor || (s.HasDir("solution") && !s.HasDir("oracle")) {
		place = "solution/solve.sh"
	}
	return s.one("no-oracle", place, 0, "there is no reference solution")
}

// stubOracle fires when running the reference solution would change nothing.
func stubOracle(_ *batch, s *subject) []report.Finding {
	if s.OraclePath == "" {
		return nil
	}
	sh, ok := s.shell(s.OraclePath)
	if !ok || !doesNothing(sh.statements) && !s.runsNothing() {
		return nil
	}
	line := 1
	if len(sh.statements) > 0 {
		line = int(sh.statements[0].Pos().Line())
	}
	return s.one("stub-oracle", s.OraclePath, line, "the reference solution does nothing")
}

// runsNothing reports whether following the reference solution finds nothing that it changes: commands behind an exit
// or in functions that are not called do not count. A script that is too much to be followed is left to doesNothing.
func (s *subject) runsNothing() bool {
	facts := s.solutionFacts()
	return facts != nil && facts.DoesNothing
}

// harmless reports whether a command changes nothing outside its own shell.
func harmless(name string) bool {
	switch name {
	case "exit", "return", "true", "false", ":", "echo", "printf", "set", "shopt", "cd", "pwd", "sleep", "wait", "test", "[":
		return true
	}
	return false
}

// doesNothing reports whether statements contain only harmless commands. Control flow around them does not matter,
// and a call of the script's own function is judged by the function's body, which is looked at like any other code.
func doesNothing(statements []*syntax.Stmt) bool {
	functions := map[string]bool{}
	for _, st := range statements {
		walkShell(st, func(n syntax.Node) bool {
			if f, ok := n.(*syntax.FuncDecl); ok && f.Name != nil {
				functions[f.Name.Value] = true
			}
			return true
		})
	}
	for _, st := range statements {
		if !walkShell(st, func(n syntax.Node) bool { return idle(n, functions) }) {
			return false
		}
	}
	return true
}

// idle judges a single node; its children are judged on their own.
func idle(n syntax.Node, functions map[string]bool) bool {
	switch n := n.(type) {
	case *syntax.CallExpr:
		if len(n.Args) == 0 {
			return true // an assignment
		}
		name := n.Args[0].Lit()
		return harmless(name) || functions[name]
	case *syntax.Redirect:
		return idleRedirect(n)
	case *syntax.CoprocClause:
		return false
	}
	return true
}

// idleRedirect accepts redirections that create no file: reading, duplicating a descriptor, and the standard sinks.
func idleRedirect(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrIn, syntax.DplIn, syntax.DplOut, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return true
	}
	switch r.Word.Lit() {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty":
		return true
	}
	return false
}
