package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param expands $name and every ${…} form that can be computed.
func (in *interp) param(st *state, p *syntax.ParamExp) value {
	source := in.text.snippet(p.Pos(), p.End())
	if p.Param == nil || p.Width || p.Names != 0 || p.NestedParam != nil || len(p.Modifiers) > 0 {
		return unknown(source)
	}
	name := p.Param.Value
	v, found := in.lookup(st, p, name)
	if p.Excl {
		inner, ok := v.certain()
		if !found || !ok {
			return unknown(source)
		}
		v, found = in.named(st, inner)
	}
	switch {
	case p.Length:
		if v.list != nil {
			return str(itoa(len(v.list)))
		}
		if text, ok := v.certain(); found && ok {
			return str(itoa(len([]rune(text))))
		}
		return unknown(source)
	case p.Exp != nil:
		return in.operator(st, p.Exp, name, v, found, source)
	case !found:
		return unknown(source)
	case p.Repl != nil:
		return in.replace(st, p.Repl, v, source)
	case p.Slice != nil:
		return in.slice(st, p.Slice, v, source)
	}
	return v
}

// lookup returns the value of a parameter; found is false when the script does
// not set it, so that only the environment knows.
func (in *interp) lookup(st *state, p *syntax.ParamExp, name string) (value, bool) {
	if p.Index == nil {
		return in.named(st, name)
	}
	v, ok := st.vars.get(name)
	if name == "PIPESTATUS" {
		v, ok = value{list: st.pipe}, len(st.pipe) > 0
	}
	if name == "BASH_SOURCE" || name == "BASH_ARGV0" {
		return in.named(st, "0")
	}
	if !ok || v.list == nil {
		return value{}, false
	}
	if indexIsAll(p.Index) {
		return value{Word: joined(v.list, " ").Word, list: v.list}, true
	}
	if n, known := in.arith(st, p.Index); known && n >= 0 && n < len(v.list) {
		return v.list[n], true
	}
	return value{}, false
}

// named returns the value of a parameter by its name.
func (in *interp) named(st *state, name string) (value, bool) {
	switch name {
	case "?":
		return st.status, true
	case "0", "BASH_SOURCE":
		if in.opts.Script != "" {
			return value{Word: Word{Text: in.opts.Script, Known: true, Assumed: true}}, true
		}
		return value{}, false
	case "#":
		if st.params != nil {
			return str(itoa(len(st.params))), true
		}
		return value{}, false
	case "@", "*":
		return in.allParams(st)
	case "PWD":
		if st.dir.Text != "" {
			return st.dir, true
		}
		return value{}, false
	}
	if n, ok := number(name); ok {
		if st.params == nil {
			return value{}, false
		}
		if n >= 1 && n <= len(st.params) {
			return st.params[n-1], true
		}
		return str(""), true
	}
	if v, ok := st.vars.get(name); ok {
		if v.list != nil {
			if len(v.list) == 0 {
				return str(""), true
			}
			return v.list[0], true
		}
		return v, true
	}
	if text, ok := in.opts.Assume[name]; ok {
		return value{Word: Word{Text: text, Known: true, Assumed: true}}, true
	}
	return value{}, false
}

func (in *interp) allParams(st *state) (value, bool) {
	if st.params == nil {
		return value{}, false
	}
	return joined(st.params, " "), true
}

// operator applies ${name:-word} and its relatives.
func (in *interp) operator(st *state, e *syntax.Expansion, name string, v value, found bool, source string) value {
	empty := found && v.Known && v.Text == "" && v.list == nil
	switch e.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return in.withDefault(st, e, name, v, found, empty)
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if found {
			return v
		}
		return unknown("$" + name)
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		switch {
		case empty && e.Op == syntax.AlternateUnsetOrNull:
			return str("")
		case found && v.Known && !v.Assumed:
			return in.word(st, e.Word)
		}
		return unknown(source)
	}
	if !found || !v.Known {
		return unknown(source)
	}
	pattern := in.word(st, e.Word)
	switch e.Op {
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix:
		if !pattern.Known || len(v.Text) > 4096 {
			return unknown(source)
		}
		v.Text = trimPattern(v.Text, pattern.Text, e.Op)
	case syntax.UpperAll:
		v.Text = strings.ToUpper(v.Text)
	case syntax.LowerAll:
		v.Text = strings.ToLower(v.Text)
	default:
		return unknown(source)
	}
	return v
}

func (in *interp) withDefault(st *state, e *syntax.Expansion, name string, v value, found, empty bool) value {
	useDefault := !found
	if empty && (e.Op == syntax.DefaultUnsetOrNull || e.Op == syntax.AssignUnsetOrNull) {
		useDefault = true
	}
	if !useDefault {
		return v
	}
	d := in.word(st, e.Word)
	if _, positional := number(name); !found && !positional {
		d.Assumed = true
		d.sym, d.failed = 0, false
	}
	if e.Op == syntax.AssignUnset || e.Op == syntax.AssignUnsetOrNull {
		st.set(name, d)
	}
	return d
}

// trimPattern removes a prefix or suffix that matches the pattern.
func trimPattern(s, pattern string, op syntax.ParExpOperator) string {
	prefix := op == syntax.RemSmallPrefix || op == syntax.RemLargePrefix
	large := op == syntax.RemLargePrefix || op == syntax.RemLargeSuffix
	for i := 0; i <= len(s); i++ {
		n := i
		if large {
			n = len(s) - i
		}
		if prefix && match(pattern, s[:n]) {
			return s[n:]
		}
		if !prefix && match(pattern, s[len(s)-n:]) {
			return s[:len(s)-n]
		}
	}
	return s
}

func (in *interp) replace(st *state, r *syntax.Replace, v value, source string) value {
	orig, with := in.word(st, r.Orig), in.word(st, r.With)
	if !v.Known || !orig.Known || !with.Known || strings.ContainsAny(orig.Text, `*?[\#%`) || orig.Text == "" {
		return unknown(source)
	}
	n := 1
	if r.All {
		n = -1
	}
	v.Text = strings.Replace(v.Text, orig.Text, with.Text, n)
	if len(v.Text) > maxWordBytes {
		return unknown(source)
	}
	return v
}

func (in *interp) slice(st *state, s *syntax.Slice, v value, source string) value {
	offset, ok := in.arith(st, s.Offset)
	if !v.Known || !ok || offset < 0 || offset > len(v.Text) {
		return unknown(source)
	}
	v.Text = v.Text[offset:]
	if s.Length != nil {
		n, ok := in.arith(st, s.Length)
		if !ok || n < 0 {
			return unknown(source)
		}
		v.Text = v.Text[:min(n, len(v.Text))]
	}
	return v
}
