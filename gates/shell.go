package gates

import (
	"bytes"
	"errors"
	"io"
	"path"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// script is a parsed shell script up to its first unconditional exit; nothing after that can run.
type script struct {
	statements []*syntax.Stmt
}

// shell parses a file of the package once. It returns false when the file is missing, is written in another language,
// or cannot be parsed; the last is recorded.
func (s *subject) shell(name string) (*script, bool) {
	if sh, done := s.shells[name]; done {
		return sh, sh != nil
	}
	if s.shells == nil {
		s.shells = map[string]*script{}
	}
	s.shells[name] = nil
	src, ok := s.source(name)
	if !ok || !isShell(src) {
		return nil, false
	}
	sh, err := parseShell(src)
	if err != nil {
		line := 0
		if at, ok := errors.AsType[syntax.ParseError](err); ok {
			line = int(at.Pos.Line())
			err = errors.New(at.Text)
		}
		s.refuse(name, line, "the shell script cannot be parsed: "+err.Error())
		return nil, false
	}
	s.shells[name] = sh
	return sh, true
}

// isShell looks at the first line: no interpreter line, or one that names a shell.
func isShell(src []byte) bool {
	first, _, _ := bytes.Cut(src, []byte("\n"))
	line, ok := strings.CutPrefix(string(first), "#!")
	if !ok {
		return true
	}
	for _, word := range strings.Fields(line) {
		base := path.Base(word)
		if base == "env" || strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		return strings.HasSuffix(base, "sh")
	}
	return true
}

// parseShell parses statement by statement, as bash reads them, and stops after an unconditional exit: text behind it
// may be anything.
func parseShell(src []byte) (sh *script, err error) {
	defer func() {
		if recover() != nil {
			sh, err = nil, errors.New("the parser failed on it")
		}
	}()
	sh = &script{}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	for st, err := range parser.StmtsSeq(&shallow{src: bytes.NewReader(src)}) {
		if err != nil {
			return nil, err
		}
		sh.statements = append(sh.statements, st)
		if call, ok := st.Cmd.(*syntax.CallExpr); ok && !st.Negated && !st.Background && len(call.Args) > 0 && call.Args[0].Lit() == "exit" {
			break
		}
	}
	return sh, nil
}

// maxFrames is how deep the parser may recurse: hundreds of nested constructs, and about 10 MB of stack.
const maxFrames = 20_000

// errTooNested is what a script with absurd nesting is refused with.
var errTooNested = errors.New("commands are nested too deep")

// shallow feeds a recursive parser and refuses to go on when the stack below it has grown too deep. The parser has no
// limit of its own, and half a megabyte of opening parentheses would end the process: Go cannot recover from an
// exhausted stack. Counting parentheses beforehand would misjudge quotes and here-documents; the depth of the stack
// itself is exact, and asking for it costs nothing while the stack is shallow.
type shallow struct{ src io.Reader }

// Read hands out the script in portions of at most 1 KiB, so that the depth is looked at often enough.
func (s *shallow) Read(p []byte) (int, error) {
	var frame [1]uintptr
	if runtime.Callers(maxFrames, frame[:]) > 0 {
		return 0, errTooNested
	}
	return s.src.Read(p[:min(len(p), 1024)])
}

// walkShell visits a node and everything in it until visit returns false, and reports whether it never did. It keeps
// its own stack, because a pipe of half a million commands is a tree of that depth.
func walkShell(root syntax.Node, visit func(syntax.Node) bool) bool {
	var node syntax.Node
	pending := []syntax.Node{root}
	addChildren := func(n syntax.Node) bool {
		if n != nil && n != node {
			pending = append(pending, n)
		}
		return n == node
	}
	for len(pending) > 0 {
		node = pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if !visit(node) {
			return false
		}
		syntax.Walk(node, addChildren)
	}
	return true
}
