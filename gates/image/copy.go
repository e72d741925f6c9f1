package image

import (
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/patternmatcher"
)

// transfer is one COPY or ADD after expansion.
type transfer struct {
	from    *tree  // where the sources are
	context bool   // from is the build context
	stage   string // name of the stage or image for --from
	sources []string
	dest    string // absolute; with a trailing slash if it must be a directory
	via     Via
	exclude *patternmatcher.PatternMatcher
	parents bool
	unpack  bool
	line    int
}

func (b *builder) copyCommand(s *stage, c *instructions.CopyCommand, line int) {
	t := transfer{sources: c.SourcePaths, dest: destination(s.workdir, c.DestPath), via: ViaCopy, parents: c.Parents, line: line}
	t.exclude = b.excludes(c.ExcludePatterns, line)
	if c.From == "" {
		t.from, t.context = b.context.tree, true
	} else {
		t.via, t.stage = ViaStage, c.From
		src, ok := b.source(s, c.From, line)
		if !ok {
			return
		}
		if src == nil {
			b.fromImage(s, t)
			return
		}
		t.from = src.tree
	}
	b.transfer(s, t)
	b.heredocs(s, c.SourceContents, t.dest, line)
}

func (b *builder) addCommand(s *stage, c *instructions.AddCommand, line int) {
	t := transfer{from: b.context.tree, context: true, dest: destination(s.workdir, c.DestPath), via: ViaAdd, unpack: true, line: line}
	if c.Unpack != nil {
		t.unpack = *c.Unpack
	}
	t.exclude = b.excludes(c.ExcludePatterns, line)
	for _, src := range c.SourcePaths {
		if isRemote(src) {
			b.remote(s, src, c.Checksum, t)
		} else {
			t.sources = append(t.sources, src)
		}
	}
	b.transfer(s, t)
	b.heredocs(s, c.SourceContents, t.dest, line)
}

// destination resolves the target of COPY and ADD. "." and "" mean the working
// directory; a trailing slash is kept.
func destination(workdir, dest string) string {
	slash := strings.HasSuffix(dest, "/") || dest == "" || dest == "." || strings.HasSuffix(dest, "/.")
	p := resolvePath(workdir, dest)
	if slash && p != "/" {
		p += "/"
	}
	return p
}

func (b *builder) excludes(patterns []string, line int) *patternmatcher.PatternMatcher {
	if len(patterns) == 0 {
		return nil
	}
	m, err := patternmatcher.New(patterns)
	if err == nil {
		_, err = m.MatchesOrParentMatches("x")
	}
	if err != nil {
		b.issue(CodeUnparsed, line, "--exclude: %v", err)
		return nil
	}
	return m
}

// transfer copies every source.
func (b *builder) transfer(s *stage, t transfer) {
	for _, src := range t.sources {
		if !b.spend(len(t.from.files)+len(t.from.dirs), t.line) {
			return
		}
		clean := path.Clean("/" + src)
		if t.context && leavesContext(src) {
			b.issue(CodeOutside, t.line, "%s leaves the build context; BuildKit reads it as %s", src, clean)
		}
		if t.parents {
			b.withParents(s, t, src)
			continue
		}
		matches := []string{clean}
		if hasWildcard(clean) {
			matches = t.from.glob(clean)
		}
		for _, m := range matches {
			b.copyOne(s, t, m, src)
		}
	}
}

func leavesContext(src string) bool {
	c := path.Clean(strings.TrimLeft(src, "/"))
	return c == ".." || strings.HasPrefix(c, "../")
}

// copyOne copies one file, or what a directory holds.
func (b *builder) copyOne(s *stage, t transfer, from, written string) {
	if f, ok := t.from.files[from]; ok {
		if t.unpack && b.unpack(s, t, f) {
			return
		}
		target := strings.TrimSuffix(t.dest, "/")
		if strings.HasSuffix(t.dest, "/") || s.tree.isDir(orRoot(target)) {
			target = path.Join(t.dest, path.Base(from))
		}
		b.put(s, t, f, orRoot(target))
		return
	}
	if !t.from.isDir(from) {
		b.missing(s, t, from, written)
		return
	}
	if !b.spend(len(t.from.files)+len(t.from.dirs), t.line) {
		return
	}
	s.tree.mkdir(path.Clean(t.dest))
	base := strings.TrimSuffix(from, "/") + "/"
	for _, p := range t.from.under(from) {
		rel := strings.TrimPrefix(p, base)
		if !excluded(t.exclude, rel) {
			b.put(s, t, t.from.files[p], path.Join(t.dest, rel))
		}
	}
	for d := range t.from.dirs {
		if rel, ok := strings.CutPrefix(d, base); ok && !excluded(t.exclude, rel) {
			s.tree.mkdir(path.Join(t.dest, rel))
		}
	}
}

func orRoot(p string) string {
	if p == "" {
		return "/"
	}
	return p
}

func excluded(m *patternmatcher.PatternMatcher, rel string) bool {
	if m == nil {
		return false
	}
	ok, err := m.MatchesOrParentMatches(rel)
	return err == nil && ok
}

// missing reports a source that is not there. From a stage with unknown files
// it may be there all the same, and is placed without content.
func (b *builder) missing(s *stage, t transfer, from, written string) {
	switch {
	case !t.context && t.from.open:
		b.placeUnknown(s, t, from)
	case t.context && b.context.leftOut(from):
		b.issue(CodeIgnoredEntry, t.line, "%s is left out of the build context by .dockerignore", written)
	case !t.context:
		b.issue(CodeMissing, t.line, "%s does not exist in stage %s", written, t.stage)
	case !b.context.full:
		b.issue(CodeMissing, t.line, "%s does not exist in the build context", written)
	}
}

// leftOut says whether .dockerignore leaves out a path or a directory above it.
func (l *contextLoader) leftOut(p string) bool {
	for ; p != "/" && p != "."; p = path.Dir(p) {
		if l.ignored[p] {
			return true
		}
	}
	return false
}

// fromImage handles COPY --from of an image that is not part of the Dockerfile.
func (b *builder) fromImage(s *stage, t transfer) {
	for _, src := range t.sources {
		b.placeUnknown(s, t, path.Clean("/"+src))
	}
}

// placeUnknown places something whose content and kind are not known.
func (b *builder) placeUnknown(s *stage, t transfer, from string) {
	if hasWildcard(from) {
		s.tree.mkdir(path.Clean(t.dest))
		return
	}
	target := path.Clean(t.dest)
	if strings.HasSuffix(t.dest, "/") || s.tree.isDir(target) {
		target = path.Join(target, path.Base(from))
	}
	b.put(s, t, &Placed{Size: -1}, target)
}

// put places a copy of a file.
func (b *builder) put(s *stage, t transfer, f *Placed, target string) {
	p := *f
	p.Target, p.Line, p.Via, p.From = target, t.line, t.via, t.stage
	p.Guard, p.Removed, p.RemovedLine, p.mounted = "", false, 0, false
	b.place(s, p)
}

// place puts a file into a stage. What was there before stays in its layer.
func (b *builder) place(s *stage, p Placed) {
	if b.placed++; b.placed > b.limits.Placed {
		b.limit(p.Line, "the build places more than %d files; the rest is not looked at", b.limits.Placed)
		return
	}
	p.layer = b.layer
	if old, ok := s.tree.files[p.Target]; ok {
		s.retire(old, p.Line, b.layer)
	}
	s.tree.mkdir(path.Dir(p.Target))
	s.tree.files[p.Target] = &p
}

// retire takes a file out of sight. It is gone for good if this very
// instruction made it, and if it was only mounted.
func (s *stage) retire(f *Placed, line, layer int) {
	delete(s.tree.files, f.Target)
	if f.layer == layer || f.mounted {
		return
	}
	f.Removed, f.RemovedLine = true, line
	s.gone = append(s.gone, f)
}

// withParents copies one source of COPY --parents, keeping its directories.
// What comes before a "/./" is not kept.
func (b *builder) withParents(s *stage, t transfer, src string) {
	root, pattern, pivot := strings.Cut(src, "/./")
	if !pivot {
		root, pattern = "/", src
	}
	root = path.Clean("/" + root)
	pattern = strings.TrimPrefix(path.Clean("/"+pattern), "/")
	m, err := patternmatcher.New([]string{orDot(pattern)})
	if err != nil {
		b.issue(CodeUnparsed, t.line, "--parents %s: %v", src, err)
		return
	}
	roots := []string{root}
	if hasWildcard(root) {
		roots = t.from.glob(root)
	}
	found := false
	for _, r := range roots {
		prefix := strings.TrimSuffix(r, "/") + "/"
		for _, p := range t.from.under(r) {
			rel := strings.TrimPrefix(p, prefix)
			if pattern != "" {
				if ok, err := m.MatchesOrParentMatches(rel); err != nil || !ok {
					continue
				}
			}
			found = true
			if !excluded(t.exclude, rel) {
				b.put(s, t, t.from.files[p], path.Join(t.dest, rel))
			}
		}
	}
	if !found && !hasWildcard(src) {
		b.missing(s, t, path.Clean("/"+strings.Replace(src, "/./", "/", 1)), src)
	}
}

func orDot(p string) string {
	if p == "" {
		return "."
	}
	return p
}

// heredocs places the inline files of COPY <<EOF.
func (b *builder) heredocs(s *stage, contents []instructions.SourceContent, dest string, line int) {
	for _, c := range contents {
		target := path.Clean(dest)
		if strings.HasSuffix(dest, "/") || s.tree.isDir(target) {
			target = path.Join(target, path.Base(c.Path))
		}
		b.place(s, inline(Placed{Target: target, Line: line, Via: ViaHeredoc}, c.Data))
	}
}

// inline gives a file a content that the Dockerfile itself holds.
func inline(p Placed, data string) Placed {
	p.Size = int64(len(data))
	p.content = func() ([]byte, error) { return []byte(data), nil }
	return p
}

// isRemote says whether ADD fetches a source.
func isRemote(src string) bool {
	return strings.Contains(src, "://") || strings.HasPrefix(src, "git@") || strings.HasPrefix(src, "github.com/")
}

// isGit says whether a remote source is a repository.
func isGit(src string) bool {
	if strings.HasPrefix(src, "git@") || strings.HasPrefix(src, "git://") || strings.HasPrefix(src, "ssh://") || strings.HasPrefix(src, "github.com/") {
		return true
	}
	u, _, _ := strings.Cut(src, "#")
	u, _, _ = strings.Cut(u, "?")
	return strings.HasSuffix(u, ".git")
}

// remote records ADD of a URL. A file lands under its base name, a repository
// directly in the target.
func (b *builder) remote(s *stage, src, checksum string, t transfer) {
	r := RemoteAdd{URL: src, Git: isGit(src), Checksum: checksum, Line: t.line, Target: path.Clean(t.dest)}
	if r.Git {
		s.tree.mkdir(r.Target)
	} else {
		if strings.HasSuffix(t.dest, "/") || s.tree.isDir(r.Target) {
			u, _, _ := strings.Cut(src, "?")
			u, _, _ = strings.Cut(u, "#")
			r.Target = path.Join(r.Target, path.Base(u))
		}
		b.place(s, Placed{Target: r.Target, URL: src, Line: t.line, Via: ViaAdd, Size: -1})
	}
	if !slices.Contains(b.img.RemoteAdds, r) {
		b.img.RemoteAdds = append(b.img.RemoteAdds, r)
	}
}
