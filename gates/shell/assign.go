package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assign runs one NAME=value.
func (in *interp) assign(st *state, a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	switch {
	case a.Array != nil:
		v := value{list: []value{}}
		if old, ok := st.vars.get(name); a.Append && ok && old.list != nil {
			v.list = append(v.list, old.list...)
		}
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				v.list = append(v.list, in.fields(st, e.Value)...)
			}
		}
		if len(v.list) > maxFields {
			v.list = v.list[:maxFields]
		}
		st.set(name, v)
	case a.Index != nil:
		st.set(name, unknown("$"+name))
	case a.Append:
		old, ok := in.named(st, name)
		if !ok {
			old = unknown("$" + name)
		}
		st.set(name, concat(old, in.word(st, a.Value)))
	case a.Naked:
		return
	default:
		st.set(name, in.word(st, a.Value))
	}
}

// declClause runs export, declare, local, readonly and typeset. They succeed
// even when a command substitution in them failed.
func (in *interp) declClause(s *syntax.Stmt, cmd *syntax.DeclClause, st *state) []*state {
	var words []*syntax.Word
	for _, a := range cmd.Args {
		words = append(words, assignWords(a)...)
	}
	exports := cmd.Variant.Value == "export"
	for _, a := range cmd.Args {
		exports = exports || a.Name == nil && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "x")
	}
	return in.each(in.substitutions(words, st), func(st *state) []*state {
		for _, a := range cmd.Args {
			if a.Name != nil && exports {
				st.export = st.export.with(a.Name.Value, true)
			}
			if a.Name == nil || a.Naked && a.Value == nil {
				if a.Name != nil && cmd.Variant.Value == "local" {
					st.shadow(a.Name.Value)
				}
				continue
			}
			if cmd.Variant.Value == "local" || (cmd.Variant.Value != "export" && len(st.frames) > 0) {
				st.shadow(a.Name.Value)
			}
			in.assign(st, a)
		}
		st.status, st.tested = success(), false
		c := call{words: []value{str(cmd.Variant.Value)}, pos: s.Pos(), end: s.End()}
		in.record(st, c, str(""))
		return []*state{st}
	})
}
