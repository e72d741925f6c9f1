package configs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Origin knows where in a file each key of a fragment stands, so that whoever
// finds a value wrong can point at it.
type Origin struct {
	File string // slash-separated, from the configuration's root
	base string // the table that keys are given from; empty for the whole file
	keys map[string]position
}

type position struct{ line, column int }

// Problem makes a problem about a key, given in dotted form such as
// meta.serving.flavor. A key that the file does not have is placed at the
// nearest table around it.
func (o Origin) Problem(key, format string, args ...any) Problem {
	key = dotted(o.base, key)
	at := o.near(key)
	return Problem{File: o.File, Line: at.line, Column: at.column, Key: key, Message: fmt.Sprintf(format, args...)}
}

// Has reports whether the file sets a key, given in dotted form.
func (o Origin) Has(key string) bool { _, ok := o.keys[dotted(o.base, key)]; return ok }

func (o Origin) near(key string) position {
	for key != "" {
		if at, ok := o.keys[key]; ok {
			return at
		}
		key = parent(key)
	}
	return position{}
}

// expression is the lines of a document that belong to one key or table header.
type expression struct {
	start, end int // offsets
	header     bool
}

// Bounds of a document, far above any real configuration. They keep the library
// from spending minutes on a file that only claims to be one.
const (
	maxKeys  = 2000
	maxParts = 16 // of one dotted key
)

// outline reads a document's keys: where they stand and which bytes belong to
// which. It returns a problem when the document is not TOML or out of bounds.
func outline(file string, doc []byte) (Origin, []expression, *Problem) {
	o := outliner{Origin: Origin{File: file, keys: map[string]position{}}, lines: lineStarts(doc)}
	var parts []expression
	var parser unstable.Parser
	parser.Reset(doc)
	arrays := map[string]int{}
	prefix := ""
	for parser.NextExpression() {
		e := parser.Expression()
		path, start := keyPath(e)
		if len(path) > maxParts || len(o.keys) > maxKeys {
			at := o.at(start)
			return o.Origin, nil, &Problem{File: file, Line: at.line, Column: at.column, Message: fmt.Sprintf("has more than %d keys, or a key of more than %d parts", maxKeys, maxParts)}
		}
		switch e.Kind {
		case unstable.Table:
			prefix = indexed(path, arrays)
			o.note(prefix, start)
		case unstable.ArrayTable:
			name := strings.Join(path, ".")
			arrays[name]++
			prefix = fmt.Sprintf("%s[%d]", name, arrays[name]-1)
			o.note(prefix, start)
		case unstable.KeyValue:
			o.walk(prefix, e)
		default: // comments are not asked for
			continue
		}
		part := expression{start: o.lines[o.at(start).line-1], end: len(doc), header: e.Kind != unstable.KeyValue}
		if n := len(parts); n > 0 {
			parts[n-1].end = part.start
		}
		parts = append(parts, part)
	}
	if err := parser.Error(); err != nil {
		return o.Origin, parts, o.syntaxProblem(doc, &parser, err)
	}
	return o.Origin, parts, nil
}

// outliner fills an Origin. It keeps the offsets at which lines begin, because
// the parser would count them anew for every key.
type outliner struct {
	Origin
	lines []int
}

// lineStarts lists the offsets at which a document's lines begin.
func lineStarts(doc []byte) []int {
	starts := []int{0}
	for i, c := range doc {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// at is where in the file a piece of it begins.
func (o outliner) at(r unstable.Range) position {
	line, exact := slices.BinarySearch(o.lines, int(r.Offset))
	if exact {
		line++
	}
	return position{line, int(r.Offset) - o.lines[line-1] + 1}
}

// walk notes a key and, below an inline table, its keys.
func (o outliner) walk(prefix string, keyValue *unstable.Node) {
	path, start := keyPath(keyValue)
	prefix = dotted(prefix, strings.Join(path, "."))
	o.note(prefix, start)
	if v := keyValue.Value(); v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			o.walk(prefix, it.Node())
		}
	}
}

// note remembers where a key, and with it every table around it, was first seen.
func (o outliner) note(key string, start unstable.Range) {
	at := o.at(start)
	for key != "" && !o.Has(key) {
		o.keys[key] = at
		key = parent(key)
	}
}

// parent is the key of the table around a key; "" for a key at the top.
func parent(key string) string { return key[:max(0, strings.LastIndexByte(key, '.'))] }

// keyPath is the key of an expression and where it begins.
func keyPath(e *unstable.Node) (path []string, start unstable.Range) {
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if path == nil {
			start = n.Raw
		}
		path = append(path, string(n.Data))
	}
	return path, start
}

// indexed joins a table's name, with the index of the current element after the
// part that names an array of tables.
func indexed(path []string, arrays map[string]int) string {
	plain, name := "", ""
	for _, part := range path {
		plain, name = dotted(plain, part), dotted(name, part)
		if n := arrays[plain]; n > 0 {
			name = fmt.Sprintf("%s[%d]", name, n-1)
		}
	}
	return name
}

func dotted(prefix, part string) string {
	if prefix == "" || part == "" {
		return prefix + part
	}
	return prefix + "." + part
}

func (o outliner) syntaxProblem(doc []byte, p *unstable.Parser, err error) *Problem {
	problem := &Problem{File: o.File, Message: "is not TOML: " + err.Error()}
	var where *unstable.ParserError
	if errors.As(err, &where) {
		problem.Message = "is not TOML: " + where.Message
		if within(doc, where.Highlight) {
			at := o.at(p.Range(where.Highlight))
			problem.Line, problem.Column = at.line, at.column
		}
	}
	return problem
}

// within reports whether part is a subslice of doc, which the parser insists on.
func within(doc, part []byte) bool {
	offset := cap(doc) - cap(part)
	return part != nil && offset >= 0 && offset+len(part) <= len(doc)
}
