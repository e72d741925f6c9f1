package task

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// syntaxError is a refusal by one of our readers of YAML, TOML or Markdown, with its place in the file.
type syntaxError struct {
	line    int
	message string
	fix     string
}

func (e *syntaxError) Error() string { return e.message }

// parseYAML reads plain YAML data: one document of maps, lists and scalars. firstLine is the line of the file on
// which src begins.
func parseYAML(src string, firstLine int, limits Limits) (v Value, err error) {
	if len(src) > limits.MaxFrontmatter {
		return Value{}, &syntaxError{firstLine, fmt.Sprintf("the YAML has %d bytes; at most %d are read", len(src), limits.MaxFrontmatter), "move long text into the body or another file"}
	}
	// The parser is somebody else's and meets hostile text; a panic in it must not end a server.
	defer func() {
		if recover() != nil {
			v, err = Value{}, &syntaxError{firstLine, "the YAML parser failed on this text", "simplify it to plain keys and values"}
		}
	}()
	tokens := lexer.Tokenize(src)
	if err := checkTokens(tokens, firstLine, limits); err != nil {
		return Value{}, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return Value{}, yamlError(err, firstLine)
	}
	switch len(file.Docs) {
	case 0:
		return Value{Kind: Null, Line: firstLine}, nil
	case 1:
		c := converter{firstLine, limits.MaxNesting}
		return c.value(file.Docs[0].Body, 0)
	default:
		return Value{}, &syntaxError{firstLine, "the YAML holds several documents", "keep one"}
	}
}

func yamlError(err error, firstLine int) error {
	var positioned interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if !errors.As(err, &positioned) {
		return &syntaxError{firstLine, "the YAML cannot be read: " + err.Error(), "correct the syntax"}
	}
	line := firstLine
	if tk := positioned.GetToken(); tk != nil && tk.Position != nil {
		line += tk.Position.Line - 1
	}
	return &syntaxError{line, "the YAML cannot be read: " + positioned.GetMessage(), "correct the syntax at this line"}
}

// checkTokens refuses what plain data does not need, and amounts that would make the parser slow or exhaust memory:
// its cost grows with the square of the depth and of the number of keys.
func checkTokens(tokens token.Tokens, firstLine int, limits Limits) error {
	if len(tokens) > limits.MaxTokens {
		line := firstLine + tokens[limits.MaxTokens].Position.Line - 1
		return &syntaxError{line, fmt.Sprintf("the YAML has %d words and signs; at most %d are read", len(tokens), limits.MaxTokens), "shorten it"}
	}
	depth := nesting{}
	for i, tk := range tokens {
		line := firstLine + tk.Position.Line - 1
		what := ""
		switch tk.Type {
		case token.AnchorType, token.AliasType:
			what = "anchors and aliases (& and *)"
		case token.TagType:
			what = "tags (!)"
		case token.MergeKeyType:
			what = "merge keys (<<)"
		case token.MappingKeyType:
			what = "explicit keys (?)"
		case token.DirectiveType:
			what = "directives (%)"
		case token.SequenceEntryType:
			if depth.flow > 0 {
				return &syntaxError{line, "a - list stands inside brackets", "write [a, b] inside brackets"}
			}
		case token.InvalidType:
			return &syntaxError{line, "the YAML cannot be read: " + tk.Error, "correct the syntax at this line"}
		}
		if what != "" {
			return &syntaxError{line, what + " are not allowed here", "write the value out, or quote it if it is meant as text"}
		}
		if depth.next(tokens, i); depth.total() > limits.MaxNesting {
			return &syntaxError{line, fmt.Sprintf("values are nested more than %d deep", limits.MaxNesting), "flatten them"}
		}
	}
	return nil
}

// nesting follows an upper estimate of how deep a parser is after each token.
type nesting struct {
	columns []int // of the open block collections
	flow    int   // open brackets and braces
	pairs   int   // colons since the last separator inside a flow collection
}

func (n *nesting) next(tokens token.Tokens, i int) {
	switch tk := tokens[i]; tk.Type {
	case token.SequenceStartType, token.MappingStartType:
		n.flow, n.pairs = n.flow+1, 0
	case token.SequenceEndType, token.MappingEndType:
		n.flow, n.pairs = max(0, n.flow-1), 0
	case token.CollectEntryType:
		n.pairs = 0
	case token.SequenceEntryType:
		n.open(tk.Position.Column)
	case token.MappingValueType:
		if n.flow > 0 {
			n.pairs++
		} else if i > 0 {
			n.open(tokens[i-1].Position.Column)
		}
	}
}

func (n *nesting) open(column int) {
	for len(n.columns) > 0 && n.columns[len(n.columns)-1] >= column {
		n.columns = n.columns[:len(n.columns)-1]
	}
	n.columns = append(n.columns, column)
}

func (n *nesting) total() int { return len(n.columns) + n.flow + max(0, n.pairs-1) }

// converter turns the parser's tree into values.
type converter struct {
	firstLine  int
	maxNesting int
}

func (c converter) value(node ast.Node, depth int) (Value, error) {
	if node == nil {
		return Value{Kind: Null, Line: c.firstLine}, nil
	}
	if depth > c.maxNesting {
		return Value{}, &syntaxError{c.line(node), fmt.Sprintf("values are nested more than %d deep", c.maxNesting), "flatten them"}
	}
	v := Value{Line: c.line(node), Column: node.GetToken().Position.Column}
	switch n := node.(type) {
	case *ast.NullNode:
		v.Kind = Null
	case *ast.BoolNode:
		v.Kind, v.Scalar = Bool, n.Token.Value
	case *ast.IntegerNode:
		v.Kind, v.Scalar = Number, n.Token.Value
	case *ast.FloatNode:
		v.Kind, v.Scalar = Number, n.Token.Value
	case *ast.InfinityNode:
		v.Kind, v.Scalar = Number, n.Token.Value
	case *ast.NanNode:
		v.Kind, v.Scalar = Number, n.Token.Value
	case *ast.StringNode:
		v.Kind, v.Scalar = Text, n.Value
		v.Quoted = n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		v.Kind, v.Scalar, v.Quoted = Text, n.Value.Value, true
	case *ast.SequenceNode:
		return c.list(v, n, depth)
	case *ast.MappingNode:
		v.Flow = n.IsFlowStyle
		return c.fields(v, n.Values, depth)
	case *ast.MappingValueNode:
		return c.fields(v, []*ast.MappingValueNode{n}, depth)
	default:
		return Value{}, &syntaxError{v.Line, "the YAML holds a value of an unexpected kind: " + node.Type().String(), "use plain keys and values"}
	}
	return v, nil
}

func (c converter) list(v Value, n *ast.SequenceNode, depth int) (Value, error) {
	v.Kind = List
	for _, item := range n.Values {
		w, err := c.value(item, depth+1)
		if err != nil {
			return Value{}, err
		}
		v.Items = append(v.Items, w)
	}
	return v, nil
}

func (c converter) fields(v Value, pairs []*ast.MappingValueNode, depth int) (Value, error) {
	v.Kind = Map
	lines := map[string]int{}
	for _, pair := range pairs {
		key, err := c.value(pair.Key, depth)
		if err != nil {
			return Value{}, err
		}
		if i := slices.Index([]ValueKind{Null, List, Map}, key.Kind); i >= 0 {
			return Value{}, &syntaxError{key.Line, "a key must be plain text", "quote it"}
		}
		if first, ok := lines[key.Scalar]; ok {
			return Value{}, &syntaxError{key.Line, fmt.Sprintf("the key %q stands twice (first on line %d)", key.Scalar, first), "remove one"}
		}
		lines[key.Scalar] = key.Line
		w, err := c.value(pair.Value, depth+1)
		if err != nil {
			return Value{}, err
		}
		if v.Fields == nil {
			v.Line, v.Column = key.Line, key.Column
		}
		v.Fields = append(v.Fields, Field{key.Scalar, key.Line, w})
	}
	return v, nil
}

func (c converter) line(node ast.Node) int {
	if tk := node.GetToken(); tk != nil && tk.Position != nil {
		return c.firstLine + tk.Position.Line - 1
	}
	return c.firstLine
}
