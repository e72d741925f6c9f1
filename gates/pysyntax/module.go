package pysyntax

import (
	"fmt"
	"slices"
)

// DefaultMaxBytes is the size limit that applies when [Options.MaxBytes] is 0.
const DefaultMaxBytes = 16 << 20

// MaxDepth bounds the number of nodes on a path from the module to a leaf, and
// so how deep any recursion over a tree can go.
const MaxDepth = 3000

// Options bound a parse. The zero value is ready to use.
type Options struct {
	// MaxBytes is the largest source accepted; 0 means [DefaultMaxBytes].
	MaxBytes int
}

// Module is a parsed file.
type Module struct {
	Span
	Body []Stmt

	// Text is the decoded source: UTF-8 without a byte order mark, every line
	// ended by a single "\n". Bytes that are no valid UTF-8 can only occur in
	// comments. Positions are offsets into it.
	Text string

	// Encoding is the declared encoding in lower case, "utf-8" by default.
	Encoding string

	// Needs is the newest piece of syntax in the file.
	Needs Feature

	lines []Pos // offsets at which lines start
}

// Feature is a piece of syntax that not every supported Python understands.
// The zero value stands for a file that Python 3.8 can parse.
type Feature struct {
	Minor int    // first version that has it: 12 for Python 3.12
	At    Pos    // where it is used first
	What  string // its name, such as "t-string"
}

// Position is a place in a file for people: both numbers count from 1, columns
// count bytes of UTF-8.
type Position struct {
	Line, Column int
}

// Position returns the line and column of an offset into m.Text. The line is
// the lineno and the column one more than the col_offset of CPython's trees.
func (m *Module) Position(at Pos) Position {
	return position(m.lines, at)
}

// Source returns the text that a node covers.
func (m *Module) Source(n Node) string {
	r := n.Range()
	if r.End > Pos(len(m.Text)) || r.Start > r.End {
		return ""
	}
	return m.Text[r.Start:r.End]
}

func position(lines []Pos, at Pos) Position {
	i, found := slices.BinarySearch(lines, at)
	if !found {
		i--
	}
	return Position{Line: i + 1, Column: int(at-lines[i]) + 1}
}

// ErrorKind says which rule a file breaks.
type ErrorKind uint8

// The kinds of errors. The first three carry CPython's names.
const (
	SyntaxError      ErrorKind = iota // the text is not Python
	IndentationError                  // a block is missing, unexpected, or ends on no known level
	TabError                          // the meaning of the indentation depends on the width of a tab
	EncodingError                     // the bytes are not text in the declared encoding
	TooDeep                           // nesting beyond the limits of this package
	TooLarge                          // more bytes than the options allow
)

// String returns the name of the kind.
func (k ErrorKind) String() string {
	return [...]string{
		"syntax error", "indentation error", "tab error", "encoding error", "too deep", "too large",
	}[k]
}

// Error says why a file was refused and where. Every error that [Parse] returns
// is an *Error.
type Error struct {
	Kind ErrorKind
	Position
	Msg string
}

// Error formats the error as "line 3, column 7: syntax error: ...".
func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s: %s", e.Line, e.Column, e.Kind, e.Msg)
}

// fault is an error before its offset has been turned into a line and column.
type fault struct {
	kind ErrorKind
	at   Pos
	msg  string
}

// Parse parses a file. The error, if any, is an *[Error].
func Parse(src []byte, opts Options) (*Module, error) {
	limit := opts.MaxBytes
	if limit <= 0 {
		limit = DefaultMaxBytes
	}
	limit = min(limit, 1<<30) // offsets have 32 bits
	if len(src) > limit {
		return nil, &Error{
			Kind: TooLarge, Position: Position{1, 1},
			Msg: fmt.Sprintf("the file has %d bytes, the limit is %d", len(src), limit),
		}
	}
	text, encoding, err := decode(src)
	if err != nil {
		return nil, err
	}
	m := &Module{
		Span: Span{0, Pos(len(text))}, Text: text, Encoding: encoding, lines: lineStarts(text),
	}
	p := newParser(m)
	m.Body = p.module()
	p.checkHeight(m)
	if f := p.fault; f != nil {
		return nil, &Error{Kind: f.kind, Position: position(m.lines, f.at), Msg: f.msg}
	}
	return m, nil
}
