package pyfacts

import (
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

// product combines the possibilities of several parts.
func product(parts [][]value, combine func(parts []value) value) []value {
	if len(parts) > 64 {
		return unknown()
	}
	out := [][]value{nil}
	for _, options := range parts {
		var next [][]value
		for _, head := range out {
			for _, option := range options {
				if len(next) < maxValues {
					next = append(next, append(append([]value{}, head...), option))
				}
			}
		}
		out = next
	}
	vs := make([]value, len(out))
	for i, combination := range out {
		vs[i] = combine(combination)
		for _, part := range combination {
			if vs[i].env == "" {
				vs[i].env = part.env
			}
		}
	}
	return vs
}

// concatenation joins texts; neighbouring unknown parts become one.
func concatenation(parts []value) value {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.text)
	}
	return value{text: strings.ReplaceAll(b.String(), Unknown+Unknown, Unknown)}
}

func (c *collector) evalJoined(n *pysyntax.JoinedStr, s *scope, depth int) []value {
	parts := make([][]value, len(n.Values))
	for i, part := range n.Values {
		field, ok := part.(*pysyntax.FormattedValue)
		switch {
		case !ok:
			parts[i] = c.eval(part, s, depth+1)
		case field.FormatSpec != nil || field.Conversion != 0 && field.Conversion != 's':
			parts[i] = unknown()
		default:
			parts[i] = c.eval(field.Value, s, depth+1)
		}
	}
	return product(parts, concatenation)
}

// percentFormat expands "%s" and "%d"; other directives give unknown parts.
func (c *collector) percentFormat(format value, args []pysyntax.Expr, s *scope, depth int) []value {
	parts := [][]value{}
	rest := format.text
	for {
		i := strings.IndexByte(rest, '%')
		if i < 0 || i+1 >= len(rest) {
			parts = append(parts, []value{{text: rest, env: format.env}})
			return product(parts, concatenation)
		}
		parts = append(parts, []value{{text: rest[:i]}})
		verb := rest[i+1]
		rest = rest[i+2:]
		switch {
		case verb == '%':
			parts = append(parts, []value{{text: "%"}})
			continue
		case (verb == 's' || verb == 'd') && len(args) > 0:
			parts = append(parts, c.eval(args[0], s, depth+1))
		default:
			return []value{{text: concatenation([]value{{text: headText(parts)}, {text: Unknown}}).text}}
		}
		args = args[1:]
	}
}

// headText is the known text before a directive that is not understood.
func headText(parts [][]value) string {
	text := ""
	for _, options := range parts {
		if len(options) != 1 {
			return text + Unknown
		}
		text += options[0].text
	}
	return text
}

// evalStringJoin evaluates separator.join([...]).
func (c *collector) evalStringJoin(method *pysyntax.Attribute, n *pysyntax.Call, s *scope, depth int) []value {
	if len(n.Args) != 1 {
		return nil
	}
	separator := c.eval(method.Value, s, depth+1)
	elts := displayElements(n.Args[0])
	if elts == nil {
		return nil
	}
	var parts [][]value
	for i, e := range elts {
		if i > 0 {
			parts = append(parts, separator)
		}
		parts = append(parts, c.eval(e, s, depth+1))
	}
	return product(parts, concatenation)
}

// braceFormat expands a format string whose fields are "{}", "{0}" or "{name}".
func (c *collector) braceFormat(format value, n *pysyntax.Call, s *scope, depth int) []value {
	if hasUnknown(format.text) {
		return unknown()
	}
	var parts [][]value
	auto := 0
	rest := format.text
	for {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			parts = append(parts, []value{{text: rest, env: format.env}})
			return product(parts, concatenation)
		}
		parts = append(parts, []value{{text: rest[:i]}})
		if i+1 < len(rest) && rest[i+1] == rest[i] {
			parts = append(parts, []value{{text: rest[i : i+1]}})
			rest = rest[i+2:]
			continue
		}
		end := strings.IndexByte(rest[i:], '}')
		if end < 0 || rest[i] == '}' {
			return unknown()
		}
		field := rest[i+1 : i+end]
		rest = rest[i+end+1:]
		index, numbered := smallInt(field)
		if field == "" {
			index, numbered = auto, true
			auto++
		}
		if !numbered {
			index = -1
		}
		arg := argument(n, index, field)
		if arg == nil || strings.ContainsAny(field, ":!.[") {
			parts = append(parts, unknown())
			continue
		}
		parts = append(parts, c.eval(arg, s, depth+1))
	}
}
