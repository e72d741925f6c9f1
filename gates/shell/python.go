package shell

import (
	"path"
	"slices"
	"strings"
)

// python is what can be read off inline Python code without parsing it.
type python struct {
	tokens []pyToken
	args   []Word // sys.argv[1:]
	names  map[string]int
	env    func(string) (Word, bool)
}

// pyWrite is one place where inline Python writes a file.
type pyWrite struct {
	path Word
	data Word // content, if it is one constant
	mode string
}

func newPython(code Code, env func(string) (Word, bool)) *python {
	p := &python{tokens: pyTokens(code.Text.Text), args: code.Args, names: map[string]int{}, env: env}
	for i := 0; i+1 < len(p.tokens); i++ {
		if p.tokens[i].kind == 'n' && p.is(i+1, "=") && !p.is(i+2, "=") && (i == 0 || !p.isAny(i-1, "(,.")) {
			if _, twice := p.names[p.tokens[i].text]; twice {
				p.names[p.tokens[i].text] = -1
			} else {
				p.names[p.tokens[i].text] = i + 2
			}
		}
	}
	return p
}

func (p *python) is(i int, text string) bool {
	return i >= 0 && i < len(p.tokens) && p.tokens[i].kind != 's' && p.tokens[i].text == text
}

func (p *python) isAny(i int, ops string) bool {
	return i >= 0 && i < len(p.tokens) && p.tokens[i].kind == 'o' && strings.Contains(ops, p.tokens[i].text)
}

// seq says whether the tokens from i on are exactly these.
func (p *python) seq(i int, texts ...string) bool {
	for j, t := range texts {
		if !p.is(i+j, t) {
			return false
		}
	}
	return true
}

// straight says that the code has no branch, loop or function, so that every
// statement of it runs.
func (p *python) straight() bool {
	for _, t := range p.tokens {
		if t.kind == 'n' && slices.Contains([]string{"if", "else", "for", "while", "try", "def", "lambda", "and", "or", "match"}, t.text) {
			return false
		}
	}
	return true
}

// harmless says that the code only computes constants and writes files, so that
// it cannot fail in a way that judges anything.
func (p *python) harmless() bool {
	if !p.straight() {
		return false
	}
	for i, t := range p.tokens {
		if t.kind != 'n' {
			continue
		}
		switch {
		case t.text == "assert" || t.text == "raise":
			return false
		case p.is(i+1, "(") && !slices.Contains([]string{"open", "Path", "write", "write_text", "write_bytes", "dump", "dumps", "print", "str", "float", "int", "close", "join", "get", "getenv", "makedirs", "mkdir"}, t.text):
			return false
		}
	}
	return true
}

// value reads the constant expression that starts at token i and returns it
// with the index behind it.
func (p *python) value(i, depth int) (Word, int) {
	w, i := p.primary(i, depth)
	for depth < 20 && i < len(p.tokens) {
		switch {
		case p.is(i, "/") || p.is(i, "+"):
			right, next := p.primary(i+1, depth+1)
			if p.is(i, "/") {
				w = withText(join(join(w, literal("/")), right), cleanTarget(w.Text+"/"+right.Text))
			} else {
				w = join(w, right)
			}
			i = next
		case p.seq(i, ".", "parent"):
			w, i = withText(w, path.Dir(w.Text)), i+2
		default:
			return w, i
		}
	}
	return w, i
}

func (p *python) primary(i, depth int) (Word, int) {
	if i < 0 || i >= len(p.tokens) || depth > 20 {
		return opaque(unknownOutput), i + 1
	}
	t := p.tokens[i]
	switch {
	case t.kind == 's':
		return Word{Text: t.text, Known: t.plain}, i + 1
	case t.kind == '0':
		return literal(t.text), i + 1
	case p.seq(i, "sys", ".", "argv", "["):
		return p.argument(i)
	case p.seq(i, "os", ".", "environ", "["):
		return p.environ(i+4, i+6, depth)
	case p.seq(i, "os", ".", "environ", ".", "get", "("):
		return p.environ(i+6, 0, depth)
	case p.seq(i, "os", ".", "getenv", "("):
		return p.environ(i+4, 0, depth)
	case p.seq(i, "os", ".", "path", ".", "join", "("):
		return p.joinCall(i+6, depth)
	case p.seq(i, "str", "("), p.seq(i, "Path", "("), p.seq(i, "float", "("), p.seq(i, "int", "("):
		w, next := p.value(i+2, depth+1)
		return w, next + 1
	case p.seq(i, "pathlib", ".", "Path", "("):
		w, next := p.value(i+4, depth+1)
		return w, next + 1
	case p.is(i, "("):
		w, next := p.value(i+1, depth+1)
		return w, next + 1
	case t.kind == 'n':
		if at, ok := p.names[t.text]; ok && at > 0 {
			w, _ := p.value(at, depth+1)
			return w, i + 1
		}
	}
	return opaque(unknownOutput), i + 1
}

func (p *python) argument(i int) (Word, int) {
	if i+4 < len(p.tokens) {
		if n, ok := number(p.tokens[i+4].text); ok && n >= 1 && n <= len(p.args) {
			return p.args[n-1], i + 6
		}
	}
	return opaque(unknownOutput), i + 6
}

// environ reads an environment variable. end is the index behind the
// expression, 0 when it is a call with an optional default.
func (p *python) environ(i, end, depth int) (Word, int) {
	if i >= len(p.tokens) || p.tokens[i].kind != 's' {
		return opaque(unknownOutput), i + 1
	}
	value, known := p.env(p.tokens[i].text)
	if end > 0 {
		if known {
			return value, end
		}
		return opaque("$" + p.tokens[i].text), end
	}
	if p.is(i+1, ",") {
		def, next := p.value(i+2, depth+1)
		if !known {
			value, known = def, true
			value.Assumed = true
		}
		return value, next + 1
	}
	if known {
		return value, i + 2
	}
	return opaque("$" + p.tokens[i].text), i + 2
}

func (p *python) joinCall(i, depth int) (Word, int) {
	var w Word
	for n := 0; i < len(p.tokens) && n < 20; n++ {
		part, next := p.value(i, depth+1)
		if n == 0 {
			w = part
		} else {
			w = withText(join(join(w, literal("/")), part), cleanTarget(w.Text+"/"+part.Text))
		}
		i = next
		if !p.is(i, ",") {
			break
		}
		i++
	}
	return w, i + 1
}

// writes finds the files that the code opens for writing.
func (p *python) writes() []pyWrite {
	var out []pyWrite
	for i := range p.tokens {
		switch {
		case p.seq(i, "open", "(") && !p.is(i-1, "."):
			w, next := p.value(i+2, 0)
			if mode := p.mode(next); strings.ContainsAny(mode, "wax+") {
				out = append(out, pyWrite{path: w, mode: mode})
			}
		case p.seq(i, ".", "open", "("):
			if i+3 < len(p.tokens) && p.tokens[i+3].kind == 's' && strings.ContainsAny(p.tokens[i+3].text, "wax+") {
				out = append(out, pyWrite{path: p.receiver(i), mode: p.tokens[i+3].text})
			}
		case p.seq(i, ".", "write_text", "("), p.seq(i, ".", "write_bytes", "("):
			data, _ := p.value(i+3, 0)
			out = append(out, pyWrite{path: p.receiver(i), data: data, mode: "w"})
		}
	}
	p.fillData(out)
	return out
}

// mode reads the mode argument of open, which follows at token i.
func (p *python) mode(i int) string {
	if !p.is(i, ",") {
		return ""
	}
	i++
	if p.seq(i, "mode", "=") {
		i += 2
	}
	if i < len(p.tokens) && p.tokens[i].kind == 's' {
		return p.tokens[i].text
	}
	return ""
}

// receiver reads the path whose method is called at the dot i.
func (p *python) receiver(i int) Word {
	start := i - 1
	if p.is(start, ")") {
		for depth := 0; start >= 0; start-- {
			if p.is(start, ")") {
				depth++
			} else if p.is(start, "(") {
				if depth--; depth == 0 {
					break
				}
			}
		}
		for start > 0 && (p.tokens[start-1].kind == 'n' || p.is(start-1, ".")) {
			start--
		}
	}
	w, end := p.value(start, 0)
	if end != i {
		return opaque(unknownOutput)
	}
	return w
}

// fillData finds what is written to the opened files, if the code writes only
// one constant in all.
func (p *python) fillData(list []pyWrite) {
	var found []Word
	for i := range p.tokens {
		switch {
		case p.seq(i, ".", "write", "("):
			w, end := p.value(i+3, 0)
			if !p.is(end, ")") {
				w = opaque(unknownOutput)
			}
			found = append(found, w)
		case p.seq(i, "json", ".", "dump", "(", "{"):
			found = append(found, p.rewardObject(i+4))
		case p.seq(i, "json", ".", "dump", "("), p.seq(i, "print", "("), p.seq(i, ".", "writelines", "("):
			if !p.is(i, "print") {
				found = append(found, opaque(unknownOutput))
			}
		}
	}
	for i := range list {
		if list[i].data.Text != "" {
			continue
		}
		list[i].data = opaque(unknownOutput)
		if len(found) == 1 {
			list[i].data = found[0]
		}
	}
}

// rewardObject reads {"reward": number} as the JSON text it becomes.
func (p *python) rewardObject(i int) Word {
	if i+4 < len(p.tokens) && p.tokens[i+1].kind == 's' && p.tokens[i+1].text == "reward" && p.is(i+2, ":") && p.tokens[i+3].kind == '0' && p.is(i+4, "}") {
		return literal(`{"reward": ` + p.tokens[i+3].text + `}`)
	}
	return opaque(unknownOutput)
}

// effects turns what inline code writes into effects. known says that all of
// the code is known.
func (p *python) effects(c Command, known bool) []Effect {
	straight := known && p.straight()
	var out []Effect
	for _, w := range p.writes() {
		e := Effect{Op: OpWrite, To: c.Resolve(w.path), Data: w.data}
		if strings.Contains(w.mode, "a") {
			e.Op, e.Keep = OpAppend, true
		}
		if !straight {
			e.Data = opaque(unknownOutput)
		}
		out = append(out, e)
	}
	return out
}

// python reads the inline Python of a command, once for every different one;
// nil if the command has none.
func (in *interp) python(cmd Command) *python {
	code, ok := cmd.Inline()
	if !ok || !isPython(code.Language) {
		return nil
	}
	var key strings.Builder
	key.WriteString(code.Text.Text)
	for _, a := range code.Args {
		key.WriteString("\x00" + a.Text)
	}
	for _, v := range cmd.Env {
		key.WriteString("\x01" + v.Name + "=" + v.Value.Text)
	}
	p, ok := in.pythons[key.String()]
	if !ok {
		p = newPython(code, cmd.Variable)
		in.pythons[key.String()] = p
	}
	return p
}

// inlineRewards notes what inline code does to the reward. Code that knows the
// path but hides how it writes there may write anything.
func (in *interp) inlineRewards(st *state, cmd Command, code Code) {
	for _, e := range cmd.effects(in.python(cmd)) {
		if in.opts.watch(e.Target()) != "" {
			return // apply has noted it
		}
	}
	mentions := func(w Word) bool { return in.opts.watch(cmd.Resolve(w)) != "" }
	if slices.ContainsFunc(code.Args, mentions) || mentionsReward(code.Text.Text) {
		path := literal("/logs/verifier/reward.txt")
		for _, a := range code.Args {
			if mentions(a) {
				path = cmd.Resolve(a)
			}
		}
		in.write(st, Write{Path: path, Data: opaque(unknownOutput)}, cmd.Line)
	}
}

// mentionsReward says whether code names the reward file or its variables.
func mentionsReward(code string) bool {
	for _, s := range []string{"/logs/verifier/reward", "reward.txt", "reward.json", "BENCHFLOW_REWARD_TEXT", "BENCHFLOW_REWARD_JSON"} {
		if strings.Contains(code, s) {
			return true
		}
	}
	return false
}
