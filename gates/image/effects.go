package image

import (
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/posttrainarena/arena/gates/shell"
)

// command applies what one command of a RUN instruction does to the files.
func (b *builder) command(s *stage, c shell.Command) {
	if !b.spend(1, c.Line) {
		return
	}
	effects := c.Effects()
	for _, e := range effects {
		b.effect(s, c, e)
	}
	if _, inline := c.Inline(); inline || len(effects) == 0 && isOpaque(c) {
		b.opaque(s, c)
	}
}

// like is what every file that a command places has in common.
func like(c shell.Command) Placed {
	return Placed{Line: c.Line, Via: ViaRun, Guard: c.Guard, Size: -1}
}

func (b *builder) effect(s *stage, c shell.Command, e shell.Effect) {
	if !e.To.Known || !strings.HasPrefix(e.To.Text, "/") {
		return
	}
	to := path.Clean(e.To.Text)
	switch e.Op {
	case shell.OpMakeDir:
		s.tree.mkdir(to)
	case shell.OpRemove:
		b.remove(s, c, e)
	case shell.OpWrite, shell.OpAppend:
		b.write(s, c, e, to)
	case shell.OpModify:
		for _, p := range b.targets(s, e.To, c.Line) {
			b.modify(s, c, p)
		}
	case shell.OpCopy, shell.OpMove:
		b.transferAll(s, c, e, to)
	case shell.OpLink:
		b.link(s, c, e, to)
	case shell.OpExtract:
		if e.From.Known {
			b.extract(s, path.Clean(e.From.Text), to, like(c))
		}
	case shell.OpFetch:
		p := like(c)
		p.Target, p.URL = to, e.From.Text
		b.place(s, p)
	case shell.OpClone:
		s.tree.mkdir(to)
		if !e.Shallow {
			p := like(c)
			p.Target, p.URL, p.Clone = path.Join(to, ".git", "HEAD"), e.From.Text, true
			b.place(s, p)
		}
	}
}

// targets returns the paths that a word means: itself, or what its pattern matches.
func (b *builder) targets(s *stage, w shell.Word, line int) []string {
	if !w.Known {
		return nil
	}
	if !w.Glob {
		return []string{path.Clean(w.Text)}
	}
	if !b.spend(len(s.tree.files)+len(s.tree.dirs), line) {
		return nil
	}
	return s.tree.glob(path.Clean(w.Text))
}

func (b *builder) write(s *stage, c shell.Command, e shell.Effect, to string) {
	old, exists := s.tree.files[to]
	if e.Keep && exists {
		text, known := s.text(to)
		switch {
		case e.Data.Text == "":
		case known && e.Data.Known && len(text)+len(e.Data.Text) <= maxText:
			grown := *old
			grown.Modified = old.Source != ""
			b.place(s, b.changed(c, inline(grown, text+e.Data.Text)))
		default:
			b.modify(s, c, old.Target)
		}
		return
	}
	p := like(c)
	p.Target = to
	if e.Data.Known {
		p = inline(p, e.Data.Text)
	}
	b.place(s, p)
}

// modify marks that a file no longer has the content it came with. If it lies in
// an earlier layer, the layer keeps the original.
func (b *builder) modify(s *stage, c shell.Command, target string) {
	f, ok := s.tree.files[target]
	if !ok {
		return
	}
	changed := *f
	changed.Modified, changed.Size, changed.content = true, -1, nil
	b.place(s, b.changed(c, changed))
}

// changed is a file after a command changed it. A file that the same layer made
// keeps the place where it came from.
func (b *builder) changed(c shell.Command, f Placed) Placed {
	if f.layer != b.layer {
		f.Line, f.Via = c.Line, ViaRun
	}
	return f
}

// remove takes files away, unless a condition decides whether it happens.
func (b *builder) remove(s *stage, c shell.Command, e shell.Effect) {
	if c.Conditional() {
		return
	}
	for _, target := range b.targets(s, e.To, c.Line) {
		if f, ok := s.tree.files[target]; ok && e.Pattern == "" {
			s.retire(f, c.Line, b.layer)
			continue
		}
		if !e.Recursive || !b.spend(len(s.tree.files), c.Line) {
			continue
		}
		for _, p := range s.tree.under(target) {
			if matches(e, target, p) {
				s.retire(s.tree.files[p], c.Line, b.layer)
			}
		}
		if e.Pattern == "" {
			s.tree.removeDirs(target)
		}
	}
}

// matches says whether a recursive removal below dir takes the file p.
func matches(e shell.Effect, dir, p string) bool {
	if e.Pattern == "" {
		return true
	}
	for {
		if ok, err := path.Match(e.Pattern, path.Base(p)); err == nil && ok {
			return true
		}
		if p = path.Dir(p); e.OnlyFiles || len(p) <= len(dir) {
			return false
		}
	}
}

// transferAll is cp and mv.
func (b *builder) transferAll(s *stage, c shell.Command, e shell.Effect, to string) {
	into := e.Into || e.Maybe && s.tree.isDir(to)
	for _, from := range b.targets(s, e.From, c.Line) {
		target := to
		if into && !e.Contents {
			target = path.Join(to, path.Base(from))
		}
		if f, ok := s.tree.files[from]; ok {
			b.carry(s, c, f, target)
			if e.Op == shell.OpMove && !c.Conditional() {
				s.retire(f, c.Line, b.layer)
			}
			continue
		}
		if !b.spend(len(s.tree.files), c.Line) {
			return
		}
		below := s.tree.under(from)
		if len(below) == 0 && !s.tree.isDir(from) {
			if s.tree.open && !e.Contents {
				p := like(c)
				p.Target = target
				b.place(s, p)
			}
			continue
		}
		if !e.Recursive {
			continue
		}
		s.tree.mkdir(target)
		for _, p := range below {
			f := s.tree.files[p]
			b.carry(s, c, f, path.Join(target, strings.TrimPrefix(p, from)))
			if e.Op == shell.OpMove && !c.Conditional() {
				s.retire(f, c.Line, b.layer)
			}
		}
		if e.Op == shell.OpMove && !c.Conditional() {
			s.tree.removeDirs(from)
		}
	}
}

// carry places a copy of a file under another path.
func (b *builder) carry(s *stage, c shell.Command, f *Placed, target string) {
	if f.Target == target {
		return
	}
	p := *f
	p.Target, p.Line, p.Via, p.Guard, p.mounted = target, c.Line, ViaRun, c.Guard, false
	b.place(s, p)
}

func (b *builder) link(s *stage, c shell.Command, e shell.Effect, to string) {
	if e.Into || e.Maybe && s.tree.isDir(to) {
		to = path.Join(to, path.Base(e.From.Text))
	}
	if !slices.ContainsFunc(c.Args, func(w shell.Word) bool {
		return strings.HasPrefix(w.Text, "-") && (w.Text == "--symbolic" || !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "s"))
	}) {
		if f, ok := s.tree.files[c.Resolve(e.From).Text]; ok {
			b.carry(s, c, f, to)
		}
		return
	}
	p := like(c)
	p.Target, p.Link = to, e.From.Text
	b.place(s, p)
}

// isOpaque says whether a command may change files in ways that are not modelled.
func isOpaque(c shell.Command) bool {
	if c.Launcher || c.Name == "" {
		return false
	}
	switch c.Name {
	case ":", "true", "false", "echo", "printf", "cat", "tee", "cd", "pushd", "popd", "pwd", "set", "shopt", "export", "declare", "local", "readonly", "typeset", "unset", "shift",
		"exit", "return", "break", "continue", "trap", "umask", "ulimit", "test", "[", "read", "sleep", "date", "wait", "command", "type", "which", "hash",
		"cp", "mv", "rm", "rmdir", "mkdir", "touch", "ln", "install", "chmod", "chown", "chgrp", "stat", "ls", "grep", "egrep", "fgrep", "head", "tail", "sort", "uniq", "wc",
		"cut", "tr", "diff", "cmp", "find", "sed", "awk", "xargs", "basename", "dirname", "realpath", "readlink", "id", "whoami", "hostname", "uname", "env", "sync",
		"md5sum", "sha1sum", "sha256sum", "sha512sum", "useradd", "adduser", "groupadd", "addgroup", "usermod", "passwd", "chpasswd", "ldconfig", "locale-gen",
		"update-alternatives", "update-ca-certificates", "apt-get", "apt", "apt-key", "apt-cache", "apt-mark", "add-apt-repository", "dpkg", "dpkg-reconfigure", "debconf-set-selections",
		"apk", "yum", "dnf", "microdnf", "pip", "pip3", "npm", "curl", "wget", "git", "df", "du", "free", "ps", "tar", "unzip", "service", "systemctl":
		return false
	}
	return true
}

// opaque records a command that the model cannot look into.
func (b *builder) opaque(s *stage, c shell.Command) {
	o := OpaqueRun{Command: c.String(), Line: c.Line}
	if w, ok := c.Program(); ok {
		o.Program = w.Text
		if f, ok := s.tree.files[path.Clean(w.Text)]; ok {
			o.Source = f.Source
		}
	}
	for _, a := range c.Args {
		if i := strings.IndexByte(a.Text, '='); i >= 0 && strings.HasPrefix(a.Text, "-") {
			a.Text = a.Text[i+1:]
		}
		if !a.Known || !looksLikePath(a.Text) || len(o.Paths) >= 50 {
			continue
		}
		if p := c.Resolve(a); strings.HasPrefix(p.Text, "/") && !slices.Contains(o.Paths, p.Text) {
			o.Paths = append(o.Paths, p.Text)
		}
	}
	b.img.Opaque = append(b.img.Opaque, o)
}

// looksLikePath says whether an argument may name a file.
func looksLikePath(s string) bool {
	if s == "" || strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \n\t(){};$") || strings.Contains(s, "://") || len(s) > 300 {
		return false
	}
	return strings.Contains(s, "/") || path.Ext(s) != "" && path.Ext(s) != "." && strings.Trim(path.Ext(s), ".0123456789") != ""
}

// mount makes the files of bind mounts visible and returns what undoes it.
// Caches, tmpfs and secrets hide what is written below them.
func (b *builder) mount(s *stage, c *instructions.RunCommand, line int) (undo func()) {
	var targets []string
	var hidden []*Placed
	for _, m := range instructions.GetMounts(c) {
		target := resolvePath(s.workdir, m.Target)
		if target == "/" || m.Target == "" && m.Type == instructions.MountTypeSecret {
			continue
		}
		targets = append(targets, target)
		if m.Type == instructions.MountTypeBind {
			hidden = append(hidden, b.bind(s, m, target, line)...)
		}
	}
	return func() {
		for _, target := range targets {
			for _, p := range append(s.tree.under(target), target) {
				if f, ok := s.tree.files[p]; ok && (f.mounted || f.layer == b.layer) {
					delete(s.tree.files, p)
				}
			}
		}
		for _, f := range hidden {
			s.tree.files[f.Target] = f
		}
	}
}

// bind mounts files of the context or of another stage and returns those that
// they cover.
func (b *builder) bind(s *stage, m *instructions.Mount, target string, line int) []*Placed {
	from := b.context.tree
	if m.From != "" {
		src, ok := b.source(s, m.From, line)
		if !ok || src == nil {
			return nil
		}
		from = src.tree
	}
	source := path.Clean("/" + m.Source)
	if !b.spend(len(from.files)+len(s.tree.files), line) {
		return nil
	}
	var hidden []*Placed
	show := func(f *Placed, at string) {
		if old, ok := s.tree.files[at]; ok && !old.mounted {
			hidden = append(hidden, old)
		}
		p := *f
		p.Target, p.From, p.mounted = at, m.From, true
		s.tree.files[at] = &p
	}
	if f, ok := from.files[source]; ok {
		show(f, target)
		s.tree.mkdir(path.Dir(target))
	} else {
		s.tree.mkdir(target)
		for _, p := range from.under(source) {
			show(from.files[p], path.Join(target, strings.TrimPrefix(p, strings.TrimSuffix(source, "/"))))
		}
		if !from.isDir(source) && m.From == "" {
			b.issue(CodeMissing, line, "%s does not exist in the build context", m.Source)
		}
	}
	return hidden
}
