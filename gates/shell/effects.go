package shell

import (
	"path"
	"strings"
)

// Op is what an effect does to its target.
type Op string

// Effects of the common file tools.
const (
	OpWrite   Op = "write"   // creates or replaces To with Data
	OpAppend  Op = "append"  // adds Data to To
	OpCopy    Op = "copy"    // copies From to To
	OpMove    Op = "move"    // moves From to To
	OpRemove  Op = "remove"  // removes To
	OpMakeDir Op = "mkdir"   // creates the directory To
	OpLink    Op = "link"    // makes To a link to From
	OpModify  Op = "modify"  // changes the content of To in a way that is not known
	OpExtract Op = "extract" // unpacks the archive From into the directory To
	OpFetch   Op = "fetch"   // downloads From to the file To
	OpClone   Op = "clone"   // clones the repository From into the directory To
)

// Effect is one change that a command makes to the file system.
type Effect struct {
	Op   Op
	From Word // absolute when the working directory is known; a URL for fetch and clone
	To   Word // absolute when the working directory is known
	// Into says that To is a directory and the result keeps From's base name in
	// it; Maybe, that this is so only if To is a directory already.
	Into, Maybe bool
	// Recursive says that directories are taken with all they hold.
	Recursive bool
	// Contents says that the entries of the directory From are meant, not the
	// directory itself: cp -r src/. dst
	Contents bool
	// Shallow says that a clone leaves the history behind.
	Shallow bool
	// Keep says that an existing file keeps its content: touch, >>.
	Keep bool
	// Pattern limits a recursive removal to base names that match it: those of
	// files, and unless OnlyFiles is set of directories with all they hold.
	Pattern   string
	OnlyFiles bool
	// Data is the content for write and append.
	Data Word
}

// Target returns the path that the effect creates or changes, as far as that is
// decided without knowing which directories exist.
func (e Effect) Target() Word {
	if !e.Into || e.Contents {
		return withText(e.To, cleanTarget(e.To.Text))
	}
	t := join(e.To, literal("/"))
	t = join(t, withText(e.From, path.Base(e.From.Text)))
	return withText(t, cleanTarget(t.Text))
}

func cleanTarget(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
}

// Effects returns what the command does to files, for the tools whose arguments
// say it plainly: redirections, cp, mv, rm, mkdir, touch, tee, ln, install, sed
// -i, tar, unzip, find -delete, curl, wget, git clone, rsync, dd, truncate and
// files that inline Python opens for writing.
func (c Command) Effects() []Effect {
	return c.effects(nil)
}

// effects is Effects with inline Python already read, or nil.
func (c Command) effects(p *python) []Effect {
	var out []Effect
	for _, w := range c.Writes {
		e := Effect{Op: OpWrite, To: w.Path, Data: w.Data, Keep: w.Append}
		if w.Append {
			e.Op = OpAppend
		}
		out = append(out, e)
	}
	return append(out, c.toolEffects(p)...)
}

func (c Command) toolEffects(p *python) []Effect {
	switch c.Name {
	case "cp", "mv", "install", "rsync", "scp", "ln":
		return c.transfers()
	case "rm", "rmdir", "unlink", "shred":
		return c.forEach(Effect{Op: OpRemove, Recursive: c.has("-r", "-R", "--recursive") || c.Name == "rmdir"})
	case "mkdir":
		return c.forEach(Effect{Op: OpMakeDir}, "-m", "--mode")
	case "touch":
		return c.forEach(Effect{Op: OpAppend, Data: literal(""), Keep: true}, "-d", "-t", "-r")
	case "truncate":
		return c.forEach(Effect{Op: OpModify}, "-s", "-r")
	case "sed", "gsed":
		return c.sedEffects()
	case "perl":
		if c.has("-i") {
			return c.forEach(Effect{Op: OpModify}, "-e")
		}
	case "dd":
		return c.ddEffects()
	case "tar", "bsdtar":
		return c.tarEffects()
	case "unzip", "7z", "7za", "7zr":
		return c.unzipEffects()
	case "gunzip", "bunzip2", "unxz", "gzip", "xz", "zstd", "bzip2":
		return c.decompressEffects()
	case "find":
		return c.findEffects()
	case "curl", "wget", "aria2c":
		return c.fetchEffects()
	case "git":
		return c.cloneEffects()
	case "patch":
		if ops := c.operands("-p", "-i", "-d", "-o"); len(ops) > 0 {
			return []Effect{{Op: OpModify, To: c.Resolve(ops[0])}}
		}
	}
	if code, ok := c.Inline(); ok && isPython(code.Language) {
		if p == nil {
			p = newPython(code, c.Variable)
		}
		return p.effects(c, code.Text.Known)
	}
	return nil
}

// forEach makes one effect for every operand.
func (c Command) forEach(e Effect, takesValue ...string) []Effect {
	var out []Effect
	for _, op := range c.operands(takesValue...) {
		x := e
		x.To = c.Resolve(op)
		out = append(out, x)
	}
	return out
}

// transfers handles the tools that take sources and a target.
func (c Command) transfers() []Effect {
	op := OpCopy
	switch c.Name {
	case "mv":
		op = OpMove
	case "ln":
		op = OpLink
	case "install":
		if c.has("-d", "--directory") {
			return c.forEach(Effect{Op: OpMakeDir}, "-m", "-o", "-g")
		}
	}
	target, ops, named := c.transferOperands()
	if len(ops) == 0 {
		return nil
	}
	base := Effect{
		Op:        op,
		To:        c.Resolve(target),
		Into:      named || len(ops) > 1 || strings.HasSuffix(target.Text, "/"),
		Recursive: c.Name == "mv" || c.Name == "rsync" || c.has("-r", "-R", "-a", "--recursive", "--archive"),
	}
	base.Maybe = !base.Into && !c.has("-T", "--no-target-directory")
	var out []Effect
	for _, from := range ops {
		e := base
		e.From = c.Resolve(from)
		if op == OpLink {
			e.From = from
		}
		e.Into = e.Into || from.Glob
		e.Contents = strings.HasSuffix(from.Text, "/.") || c.Name == "rsync" && strings.HasSuffix(from.Text, "/")
		if c.Name == "cp" && c.has("--parents") {
			e.To, e.Into, e.Maybe = join(join(base.To, literal("/")), from), false, false
			e.To.Text = cleanTarget(e.To.Text)
		}
		out = append(out, e)
	}
	return out
}

// transferOperands splits the operands of a transfer into target and sources.
// named says that the target was given with -t and must be a directory.
func (c Command) transferOperands() (target Word, sources []Word, named bool) {
	switch c.Name {
	case "rsync":
		sources = c.operands("-e", "--rsh", "--exclude", "--include", "--filter", "-f")
	case "scp":
		sources = c.operands("-P", "-i", "-o", "-F", "-l", "-S", "-c", "-J")
	case "install":
		sources = c.operands("-t", "--target-directory", "-m", "-o", "-g", "-S")
		target, named = c.option("-t", "--target-directory")
	default:
		sources = c.operands("-t", "--target-directory", "-S")
		target, named = c.option("-t", "--target-directory")
	}
	if !named {
		if len(sources) < 2 {
			return Word{}, nil, false
		}
		last := len(sources) - 1
		target, sources = sources[last], sources[:last]
	}
	return target, sources, named
}

func (c Command) sedEffects() []Effect {
	inPlace := false
	for _, a := range c.Args {
		inPlace = inPlace || strings.HasPrefix(a.Text, "-i") || strings.HasPrefix(a.Text, "--in-place") ||
			len(a.Text) > 2 && a.Text[0] == '-' && a.Text[1] != '-' && strings.Trim(a.Text[1:], "nEirsuz") == "" && strings.Contains(a.Text, "i")
	}
	if !inPlace {
		return nil
	}
	ops := c.operands("-e", "-f", "--expression", "--file")
	if !c.has("-e", "-f", "--expression") && len(ops) > 0 {
		ops = ops[1:]
	}
	var out []Effect
	for _, f := range ops {
		out = append(out, Effect{Op: OpModify, To: c.Resolve(f)})
	}
	return out
}

func (c Command) ddEffects() []Effect {
	var from, to Word
	for _, a := range c.Args {
		if v, ok := strings.CutPrefix(a.Text, "if="); ok {
			from = c.Resolve(withText(a, v))
		}
		if v, ok := strings.CutPrefix(a.Text, "of="); ok {
			to = c.Resolve(withText(a, v))
		}
	}
	switch {
	case to.Text == "" || isDevice(to.Text):
		return nil
	case from.Text != "" && !isDevice(from.Text):
		return []Effect{{Op: OpCopy, From: from, To: to}}
	}
	return []Effect{{Op: OpWrite, To: to, Data: opaque(unknownOutput)}}
}
