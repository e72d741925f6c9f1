package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// fields expands a word the way a command's arguments are expanded: braces,
// parameters, and splitting of unquoted values.
func (in *interp) fields(st *state, w *syntax.Word) []value {
	if !hasBrace(w) {
		return in.fieldsOf(st, w.Parts)
	}
	// SplitBraces changes its argument into nodes that syntax.Walk refuses.
	split := &syntax.Word{Parts: slices.Clone(w.Parts)}
	syntax.SplitBraces(split)
	var out []value
	for _, parts := range braces(split.Parts) {
		out = append(out, in.fieldsOf(st, parts)...)
		if len(out) > maxFields {
			in.trace.Truncated = true
			return out[:maxFields]
		}
	}
	return out
}

func hasBrace(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok && strings.Contains(lit.Value, "{") {
			return true
		}
	}
	return false
}

// word expands a word without splitting, as in an assignment.
func (in *interp) word(st *state, w *syntax.Word) value {
	if w == nil {
		return str("")
	}
	v := in.concat(st, w.Parts, false)
	in.work += len(v.Text) + fieldCost
	return v
}

// fieldBuilder collects fields while a word is expanded.
type fieldBuilder struct {
	done []value
	cur  *builder // the field that is being built, nil between fields
}

func (b *fieldBuilder) add(v value) {
	if b.cur == nil {
		b.cur = &builder{}
	}
	b.cur.add(v)
}

func (b *fieldBuilder) end() {
	if b.cur != nil {
		b.done = append(b.done, b.cur.value())
	}
	b.cur = nil
}

// list adds several fields, of which the first joins what came before.
func (b *fieldBuilder) list(vs []value) {
	for i, v := range vs {
		if i > 0 {
			b.end()
		}
		b.add(v)
	}
}

func (in *interp) fieldsOf(st *state, parts []syntax.WordPart) []value {
	var b fieldBuilder
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.DblQuoted:
			if len(p.Parts) == 1 {
				if vs, ok := in.listParam(st, p.Parts[0]); ok {
					b.list(vs)
					continue
				}
			}
			b.add(in.concat(st, p.Parts, true))
		case *syntax.ParamExp, *syntax.CmdSubst:
			if vs, ok := in.listParam(st, p); ok {
				b.list(vs)
				continue
			}
			v := in.part(st, p, false)
			if !v.Known {
				b.add(v)
				continue
			}
			b.split(v)
		case *syntax.Lit:
			b.add(in.literal(st, p.Value, i == 0))
		default:
			b.add(in.part(st, p, false))
		}
	}
	b.end()
	for _, f := range b.done {
		in.work += len(f.Text) + fieldCost
	}
	return b.done
}

// split adds an unquoted value, which falls apart at blanks.
func (b *fieldBuilder) split(v value) {
	words := strings.Fields(v.Text)
	if len(words) == 0 {
		return
	}
	if strings.ContainsAny(v.Text[:1], " \t\n") {
		b.end()
	}
	for i, w := range words {
		if i > 0 {
			b.end()
		}
		f := v
		f.Text, f.Glob = w, strings.ContainsAny(w, "*?[")
		b.add(f)
		if i >= maxFields {
			break
		}
	}
	if strings.ContainsAny(v.Text[len(v.Text)-1:], " \t\n") {
		b.end()
	}
}

// listParam expands "$@" and "${array[@]}" into their elements.
func (in *interp) listParam(st *state, p syntax.WordPart) ([]value, bool) {
	e, ok := p.(*syntax.ParamExp)
	if !ok || e.Param == nil || e.Length || e.Excl || e.Exp != nil || e.Repl != nil {
		return nil, false
	}
	var list []value
	switch {
	case (e.Param.Value == "@" || e.Param.Value == "*") && st.params != nil:
		list = st.params
	case indexIsAll(e.Index):
		v, ok := st.vars.get(e.Param.Value)
		if !ok || v.list == nil {
			return nil, false
		}
		list = v.list
	default:
		return nil, false
	}
	if e.Slice != nil {
		n, known := in.arith(st, e.Slice.Offset)
		if !known || n < 0 || e.Slice.Length != nil {
			return nil, false
		}
		if e.Param.Value == "@" {
			n--
		}
		list = list[min(max(n, 0), len(list)):]
	}
	return list, true
}

func indexIsAll(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// concat joins the values of word parts.
func (in *interp) concat(st *state, parts []syntax.WordPart, quoted bool) value {
	var b builder
	for i, p := range parts {
		lit, ok := p.(*syntax.Lit)
		switch {
		case !ok:
			b.add(in.part(st, p, quoted))
		case quoted:
			b.add(str(unescapeQuoted(lit.Value, `$"`+"`\\")))
		default:
			b.add(in.literal(st, lit.Value, i == 0))
		}
	}
	return b.value()
}

func concat(a, b value) value {
	if len(a.Text)+len(b.Text) > maxWordBytes {
		return unknown(unknownOutput)
	}
	return value{Word: join(a.Word, b.Word)}
}

// part expands everything but literals.
func (in *interp) part(st *state, p syntax.WordPart, quoted bool) value {
	switch p := p.(type) {
	case *syntax.Lit:
		return in.literal(st, p.Value, false)
	case *syntax.SglQuoted:
		if p.Dollar {
			return str(ansiC(p.Value))
		}
		return str(p.Value)
	case *syntax.DblQuoted:
		return in.concat(st, p.Parts, true)
	case *syntax.ParamExp:
		v := in.param(st, p)
		if quoted && !v.match {
			v.Glob = false
		} else if v.Known && strings.ContainsAny(v.Text, "*?[") {
			v.Glob = true
		}
		return v
	case *syntax.CmdSubst:
		if v, ok := st.substituted(p, in.text); ok {
			return v
		}
		return unknown(in.text.snippet(p.Pos(), p.End()))
	case *syntax.ArithmExp:
		if n, ok := in.arith(st, p.X); ok {
			return str(itoa(n))
		}
		return unknown(in.text.snippet(p.Pos(), p.End()))
	case *syntax.ExtGlob:
		v := str(in.text.snippet(p.Pos(), p.End()))
		v.Glob = true
		return v
	case *syntax.ProcSubst:
		return unknown(in.text.snippet(p.Pos(), p.End()))
	}
	return unknown("…")
}

// literal is an unquoted literal: backslashes quote, *, ? and [ are patterns,
// and a tilde at the start is the home directory.
func (in *interp) literal(st *state, s string, first bool) value {
	if first && (s == "~" || strings.HasPrefix(s, "~/")) {
		home, ok := in.named(st, "HOME")
		if !ok {
			home = unknown("$HOME")
		}
		return concat(home, plainLiteral(s[1:]))
	}
	return plainLiteral(s)
}

func plainLiteral(s string) value {
	v := str(s)
	if !strings.ContainsAny(v.Text, `\*?[`) {
		return v
	}
	var b strings.Builder
	for i := 0; i < len(v.Text); i++ {
		switch c := v.Text[i]; c {
		case '\\':
			if i++; i < len(v.Text) && v.Text[i] != '\n' {
				b.WriteByte(v.Text[i])
			}
		case '*', '?', '[':
			// "[" alone is a command, not a pattern.
			v.Glob = v.Glob || v.Text != "["
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	v.Text = b.String()
	return v
}

// unescapeQuoted removes the backslashes that quote one of the special bytes.
func unescapeQuoted(s, special string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if s[i+1] == '\n' {
				i++
				continue
			}
			if strings.IndexByte(special, s[i+1]) >= 0 {
				i++
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ansiC expands the common escapes of $'…' and of printf and echo -e.
func ansiC(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if n := strings.IndexByte(`ntra0\'"`, s[i]); n >= 0 {
			b.WriteByte("\n\t\r\a\x00\\'\""[n])
		} else {
			b.WriteString(s[i-1 : i+1])
		}
	}
	return b.String()
}

// braces expands the brace expressions of a word, at most maxFields of them.
func braces(parts []syntax.WordPart) [][]syntax.WordPart {
	results := [][]syntax.WordPart{nil}
	for _, p := range parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			for i := range results {
				results[i] = append(results[i][:len(results[i]):len(results[i])], p)
			}
			continue
		}
		var next [][]syntax.WordPart
		for _, prefix := range results {
			for _, elem := range braceElements(b) {
				for _, tail := range braces(elem) {
					next = append(next, append(prefix[:len(prefix):len(prefix)], tail...))
					if len(next) >= maxFields {
						return next
					}
				}
			}
		}
		results = next
	}
	return results
}

// braceElements returns the alternatives of one brace expression.
func braceElements(b *syntax.BraceExp) [][]syntax.WordPart {
	if !b.Sequence {
		var out [][]syntax.WordPart
		for _, e := range b.Elems {
			out = append(out, e.Parts)
		}
		return out
	}
	bounds := make([]int, 0, 3)
	for _, e := range b.Elems {
		n, ok := number(e.Lit())
		if !ok {
			return [][]syntax.WordPart{{&syntax.Lit{Value: "*"}}}
		}
		bounds = append(bounds, n)
	}
	from, to, step := bounds[0], bounds[1], 1
	if len(bounds) > 2 && bounds[2] != 0 {
		step = max(bounds[2], -bounds[2])
	}
	if to < from {
		step = -step
	}
	var out [][]syntax.WordPart
	for n := from; len(out) < maxFields && (step > 0 && n <= to || step < 0 && n >= to); n += step {
		out = append(out, []syntax.WordPart{&syntax.Lit{Value: itoa(n)}})
	}
	return out
}
