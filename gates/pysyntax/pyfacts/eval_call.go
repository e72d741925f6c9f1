package pyfacts

import (
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

// isPathClass reports whether a dotted name makes a path of its arguments.
func isPathClass(name string) bool {
	switch name {
	case "pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.PurePosixPath", "Path":
		return true
	}
	return false
}

func (c *collector) evalCall(n *pysyntax.Call, s *scope, depth int) []value {
	name := c.dotted(n.Func, s)
	switch {
	case isPathClass(name):
		return c.evalJoin(n.Args, s, depth)
	case name == "os.path.join" || name == "posixpath.join":
		return c.evalJoin(n.Args, s, depth)
	}
	switch name {
	case "str", "os.fspath", "os.fsencode", "os.fsdecode", "os.path.abspath", "os.path.realpath",
		"os.path.normpath", "os.path.expanduser", "os.path.expandvars", "posixpath.normpath", "repr.str":
		if len(n.Args) > 0 {
			return c.eval(n.Args[0], s, depth+1)
		}
	case "os.path.dirname":
		if len(n.Args) > 0 {
			vs := c.eval(n.Args[0], s, depth+1)
			out := make([]value, len(vs))
			for i, v := range vs {
				out[i] = dir(v)
			}
			return out
		}
	case "os.path.basename":
		if len(n.Args) > 0 {
			vs := c.eval(n.Args[0], s, depth+1)
			out := make([]value, len(vs))
			for i, v := range vs {
				v.path = true
				out[i] = pathPart(v, "name")
			}
			return out
		}
	case "os.getenv", "os.environ.get", "os.environ.setdefault", "os.environ.pop":
		if len(n.Args) > 0 {
			return c.environment(n.Args[0], argument(n, 1, "default"), s, depth)
		}
	}
	if f := c.callee(n.Func, s); f != nil {
		return c.evalReturn(f, n, s, depth)
	}
	if method, ok := n.Func.(*pysyntax.Attribute); ok {
		return c.evalMethod(method, n, s, depth)
	}
	return nil
}

// argument returns the positional argument at index i or the keyword argument
// of the given name, nil if there is neither.
func argument(n *pysyntax.Call, i int, name string) pysyntax.Expr {
	if i >= 0 && i < len(n.Args) {
		for _, a := range n.Args[:i+1] {
			if _, star := a.(*pysyntax.Starred); star {
				return nil
			}
		}
		return n.Args[i]
	}
	for _, k := range n.Keywords {
		if k.Name == name && name != "" {
			return k.Value
		}
	}
	return nil
}

// environment evaluates a look-up of an environment variable.
func (c *collector) environment(name, fallback pysyntax.Expr, s *scope, depth int) []value {
	variable := c.eval(name, s, depth+1)
	env := Unknown
	if len(variable) == 1 {
		env = variable[0].text
	}
	vs := unknown()
	if text, set := c.env[env]; set {
		vs = []value{{text: text}}
	} else if fallback != nil {
		vs = c.eval(fallback, s, depth+1)
	}
	out := make([]value, len(vs))
	for i, v := range vs {
		v.env = env
		out[i] = v
	}
	return out
}

func (c *collector) evalJoin(args []pysyntax.Expr, s *scope, depth int) []value {
	if len(args) == 0 {
		return []value{{text: ".", path: true}}
	}
	parts := make([][]value, len(args))
	for i, a := range args {
		parts[i] = c.eval(a, s, depth+1)
	}
	return product(parts, joinPath)
}

// evalMethod evaluates the methods of paths and strings that are understood.
func (c *collector) evalMethod(method *pysyntax.Attribute, n *pysyntax.Call, s *scope, depth int) []value {
	switch method.Attr {
	case "resolve", "absolute", "expanduser", "as_posix", "__str__", "__fspath__":
		return c.eval(method.Value, s, depth+1)
	case "joinpath":
		return c.evalJoin(append([]pysyntax.Expr{method.Value}, n.Args...), s, depth)
	case "with_name", "with_suffix", "with_stem":
		if len(n.Args) == 1 {
			base, with := c.eval(method.Value, s, depth+1), c.eval(n.Args[0], s, depth+1)
			return product([][]value{base, with}, func(parts []value) value {
				return renamed(parts[0], parts[1], method.Attr)
			})
		}
	case "format":
		var vs []value
		for _, format := range c.eval(method.Value, s, depth+1) {
			vs = append(vs, c.braceFormat(format, n, s, depth)...)
		}
		return vs
	case "strip", "rstrip", "lstrip":
		vs := c.eval(method.Value, s, depth+1)
		for _, v := range vs {
			if hasUnknown(v.text) || len(n.Args) > 0 {
				return nil
			}
		}
		out := make([]value, len(vs))
		for i, v := range vs {
			v.text = strings.TrimSpace(v.text)
			out[i] = v
		}
		return out
	case "join":
		return c.evalStringJoin(method, n, s, depth)
	}
	return nil
}

// renamed applies with_name, with_suffix or with_stem.
func renamed(base, with value, how string) value {
	part := pathPart(value{text: base.text, path: true}, "name").text
	if part == Unknown || hasUnknown(with.text) {
		return value{text: Unknown, path: true}
	}
	stem, suffix := part, ""
	if i := strings.LastIndexByte(part, '.'); i > 0 {
		stem, suffix = part[:i], part[i:]
	}
	switch how {
	case "with_name":
		part = with.text
	case "with_suffix":
		part = stem + with.text
	default:
		part = with.text + suffix
	}
	return joinPath([]value{dir(base), {text: part}})
}

// evalReturn evaluates a call of a function of this file by what it returns.
func (c *collector) evalReturn(f *function, call *pysyntax.Call, s *scope, depth int) []value {
	frame := newScope(f.scope, f.def.Name)
	a := f.def.Args
	params := append(append([]*pysyntax.Arg{}, a.PosOnly...), a.Args...)
	if f.class != nil && len(params) > 0 && !isStatic(f.def) {
		params = params[1:]
	}
	for i, p := range append(append([]*pysyntax.Arg{}, params...), a.KwOnly...) {
		if i >= len(params) {
			i = -1
		}
		b := binding{}
		if arg := argument(call, i, p.Name); arg != nil {
			b = binding{expr: arg, scope: s}
		} else if own := f.scope.names[p.Name]; len(own) > 0 && own[0].param {
			b = binding{expr: own[0].expr, scope: own[0].scope}
		}
		frame.names[p.Name] = []binding{b}
	}
	var vs []value
	for _, e := range results(f.def) {
		vs = append(vs, c.eval(e, frame, depth+2)...)
		if len(vs) > 4*maxValues {
			break
		}
	}
	return vs
}
