package adversary

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/posttrainarena/arena/gates/shell"
)

// Mutant is a reference solution with one thing wrong.
type Mutant struct {
	Kind string // drop, constant, word or empty
	What string // what is wrong with it, on one line
	Line int    // of the solution; 0 for all of it
	Text string // the script
}

// Mutants makes at most k different mutants of a shell script. They depend on nothing but the script, the seed and k,
// and those of a smaller k are the first ones of a larger. The error says why the script cannot be followed.
//
// Four things go wrong in turn: the files that the script writes are empty in the end; a number is another one; a
// statement is missing; a word that is written is another one. Statements that only prepare or report (mkdir, cd, set,
// echo to the terminal …) are left alone, because leaving those out often changes nothing.
func Mutants(script []byte, seed uint64, k int) ([]Mutant, error) {
	facts, err := shell.Solution(script) // which also bounds what the parser is given
	if err != nil {
		return nil, err
	}
	m := mutator{source: strings.ReplaceAll(string(script), "\r\n", "\n"), seed: seed}
	file, err := m.parse()
	if err != nil {
		return nil, err
	}
	if m.plain, err = printed(file); err != nil {
		return nil, err
	}
	groups := [][]Mutant{m.emptied(facts), nil, nil, nil}
	for i, kind := range []string{"constant", "drop", "word"} {
		groups[i+1] = m.group(kind, k)
	}
	var all []Mutant
	seen := map[string]bool{m.plain: true}
	for turn := range k {
		for _, g := range groups {
			if turn < len(g) && len(all) < k && !seen[g[turn].Text] {
				seen[g[turn].Text] = true
				all = append(all, g[turn])
			}
		}
	}
	return all, nil
}

type mutator struct {
	source string
	plain  string // the script as it is, printed
	seed   uint64
}

func (m mutator) parse() (*syntax.File, error) {
	return syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(m.source), "solve.sh")
}

func printed(f *syntax.File) (string, error) {
	var b bytes.Buffer
	err := syntax.NewPrinter().Print(&b, f)
	return b.String(), err
}

// maxSites bounds the places of one kind that are looked at.
const maxSites = 2000

// group makes mutants of one kind, in an order that the seed decides.
func (m mutator) group(kind string, k int) []Mutant {
	file, err := m.parse()
	if err != nil {
		return nil
	}
	n := min(len(sites(file, kind)), maxSites)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(m.rank(kind, a), m.rank(kind, b)) })
	var all []Mutant
	seen := map[string]bool{m.plain: true}
	for _, i := range order {
		if len(all) == k {
			break
		}
		// Each is made on a tree of its own, which the change spoils.
		file, err := m.parse()
		if err != nil {
			return all
		}
		s := sites(file, kind)[i]
		s.change()
		text, err := printed(file)
		if err != nil || seen[text] {
			continue
		}
		seen[text] = true
		if _, err := (mutator{source: text}).parse(); err != nil {
			continue
		}
		all = append(all, Mutant{Kind: kind, What: s.what, Line: s.line, Text: text})
	}
	return all
}

// rank orders the places of one kind.
func (m mutator) rank(kind string, i int) []byte {
	b := binary.BigEndian.AppendUint64(nil, m.seed)
	sum := sha256.Sum256(append(append(binary.BigEndian.AppendUint64(b, uint64(i)), kind...), m.source...))
	return sum[:]
}

// emptied makes the mutant whose files are empty in the end.
func (m mutator) emptied(facts shell.SolutionFacts) []Mutant {
	var names []string
	for _, w := range facts.Written {
		if name, ok := w.Path.Const(); ok && path.IsAbs(name) && usable(name) && !system(name) {
			names = append(names, name)
		}
	}
	if names = distinct(names, maxNamed); len(names) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("#!/bin/bash\n(\n" + m.plain + "\n)\n")
	for _, name := range names {
		fmt.Fprintf(&b, "if [ -f '%[1]s' ]; then : > '%[1]s'; fi\n", name)
	}
	if _, err := (mutator{source: b.String()}).parse(); err != nil {
		return nil
	}
	return []Mutant{{Kind: "empty", What: "empties " + strings.Join(names[:min(len(names), 3)], ", "), Text: b.String()}}
}

// site is one place where something can go wrong.
type site struct {
	what   string
	line   int
	change func()
}

// sites lists the places of one kind, in the order of the script.
func sites(file *syntax.File, kind string) []site {
	var all []site
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil || len(all) >= maxSites {
			return false
		}
		switch n := n.(type) {
		case *syntax.Stmt:
			if kind == "drop" {
				all = append(all, dropped(n)...)
			}
			if c, ok := n.Cmd.(*syntax.CallExpr); ok {
				if kind != "drop" {
					all = append(all, constants(n, c, kind)...)
				}
				return kind == "drop" // what is below has been looked at
			}
		}
		return true
	})
	return all
}

// name is the program of a command, when it is written out.
func name(c *syntax.CallExpr) string {
	if len(c.Args) == 0 {
		return ""
	}
	return c.Args[0].Lit()
}

// writes reports whether a statement has a redirection into a file.
func writes(s *syntax.Stmt) bool {
	return slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
			return r.Word != nil && !strings.HasPrefix(r.Word.Lit(), "/dev/")
		default:
			return false
		}
	})
}

// prepares reports whether leaving a command out often changes nothing.
func prepares(program string) bool {
	switch program {
	case ":", "true", "false", "set", "shopt", "echo", "printf", "exit", "return", "cd", "pushd", "popd", "pwd", "sleep", "date", "umask", "ulimit", "trap", "wait", "test", "[",
		"mkdir", "rmdir", "chmod", "chown", "touch", "export", "unset", "shift", "break", "continue", "ls", "cat", "head", "tail", "which", "command", "type", "hash", "rm", "sync", "clear":
		return true
	default:
		return false
	}
}

// dropped leaves out a statement that runs one program or a pipe of them.
func dropped(s *syntax.Stmt) []site {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) == 0 || prepares(name(c)) && !writes(s) {
			return nil
		}
	default:
		return nil
	}
	text, _ := printed(&syntax.File{Stmts: []*syntax.Stmt{s}})
	what := "" // its first line, comments left out
	for line := range strings.Lines(text) {
		if what = strings.TrimSpace(line); what != "" && !strings.HasPrefix(what, "#") {
			break
		}
	}
	return []site{{what: "leaves out " + clip(what), line: int(s.Pos().Line()), change: func() {
		s.Cmd = &syntax.CallExpr{Args: []*syntax.Word{{Parts: []syntax.WordPart{&syntax.Lit{Value: ":"}}}}}
		s.Redirs, s.Negated = nil, false
	}}}
}

// constants changes a number or a word that a command is given or writes.
func constants(s *syntax.Stmt, c *syntax.CallExpr, kind string) []site {
	program := name(c)
	if prepares(program) && !writes(s) || program == "timeout" || program == "kill" {
		return nil
	}
	var all []site
	var words []*syntax.Word
	if len(c.Args) > 0 {
		words = append(words, c.Args[1:]...)
	}
	for _, r := range s.Redirs {
		switch {
		case r.Hdoc != nil:
			words = append(words, r.Hdoc)
		case r.Op == syntax.WordHdoc:
			words = append(words, r.Word)
		}
	}
	for _, a := range c.Assigns {
		if a.Value != nil {
			words = append(words, a.Value)
		}
	}
	for _, w := range words {
		if first := literalStart(w); strings.HasPrefix(first, "-") || strings.HasPrefix(first, "/") && !strings.ContainsAny(first, " \n") {
			continue // an option or a path
		}
		syntax.Walk(w, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Lit:
				all = append(all, edits(&n.Value, int(n.Pos().Line()), kind, program)...)
			case *syntax.SglQuoted:
				all = append(all, edits(&n.Value, int(n.Pos().Line()), kind, program)...)
			case *syntax.CmdSubst, *syntax.ParamExp, *syntax.ArithmExp, *syntax.ProcSubst:
				return false
			}
			return true
		})
	}
	return all
}

// literalStart is what a word begins with, as far as it is written out.
func literalStart(w *syntax.Word) string {
	if len(w.Parts) == 0 {
		return ""
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value
	case *syntax.SglQuoted:
		return p.Value
	case *syntax.DblQuoted:
		return literalStart(&syntax.Word{Parts: p.Parts})
	default:
		return ""
	}
}

func letter(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || b >= 0x80
}
func digit(b byte) bool { return b >= '0' && b <= '9' }

// edits lists the changes of one literal text: its numbers, or its words where echo or printf writes them.
func edits(text *string, line int, kind, program string) []site {
	var all []site
	at := *text
	for i := 0; i < len(at) && len(all) < maxSites; {
		isPart := digit
		if kind == "word" {
			isPart = letter
		}
		if !isPart(at[i]) {
			i++
			continue
		}
		from := i
		for i < len(at) && isPart(at[i]) {
			i++
		}
		to := i
		glued := func(b byte) bool { return letter(b) || digit(b) || b == '$' || b == '\\' || b == '%' }
		if from > 0 && glued(at[from-1]) || to < len(at) && glued(at[to]) || comment(at, from) {
			continue
		}
		if from > 1 && at[from-1] == '-' && letter(at[from-2]) {
			continue // utf-8: a name
		}
		old := at[from:to]
		var changed string
		switch {
		case kind == "constant":
			changed = next(old)
		case kind == "word" && (program == "echo" || program == "printf") && len(old) >= 2 && old[len(old)-1] < 0x80:
			changed = old + string(old[len(old)-1]) // "salt" is "saltt"
		default:
			continue
		}
		all = append(all, site{
			what: fmt.Sprintf("has %s for %s", clip(changed), clip(old)), line: line + strings.Count(at[:from], "\n"),
			change: func() { *text = at[:from] + changed + at[to:] },
		})
	}
	return all
}

// comment reports whether a place is on a line of a program that looks like a comment.
func comment(text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//") || strings.Contains(line, " # ")
}

// next is a number that is one more.
func next(digits string) string {
	if n, err := strconv.ParseUint(digits, 10, 63); err == nil {
		return strconv.FormatUint(n+1, 10)
	}
	last := digits[len(digits)-1]
	return digits[:len(digits)-1] + string('0'+(last-'0'+1)%10)
}

// clip shortens a text for a sentence.
func clip(s string) string {
	if r := []rune(strings.ToValidUTF8(s, "\ufffd")); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
