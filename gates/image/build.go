package image

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	dockershell "github.com/moby/buildkit/frontend/dockerfile/shell"
)

const (
	// maxDockerfile bounds the Dockerfile itself.
	maxDockerfile = 1 << 20
	// maxStages bounds how many stages are followed.
	maxStages = 200
	// maxInstructions bounds how many instructions are read.
	maxInstructions = 2000
	// maxValue bounds the length of a variable's value.
	maxValue = 8 << 10
	// maxExpansion bounds what one word may expand to.
	maxExpansion = 4 << 20
	// runFactor times shell.MaxWork bounds what all RUN instructions together may take.
	runFactor = 4
	// maxWork bounds how many tree entries all instructions together look at.
	maxWork = 20_000_000
	// maxIssues bounds the list of issues.
	maxIssues = 500
)

// Build says what a Dockerfile makes of a build context. The context is rooted
// where the build is: a task package's environment directory. It may be nil.
// Issues are sorted by line. Even a Dockerfile that cannot be parsed gives an
// Image, an empty one.
func Build(dockerfile []byte, context fs.FS, opts Options) (Image, []Issue) {
	b := &builder{
		opts:   opts,
		limits: opts.Limits.withDefaults(),
		args:   map[string]string{},
		seen:   map[Issue]bool{},

		archives: map[string]listing{},
	}
	b.budget = budget{unpack: unpackFactor * b.limits.ArchiveBytes, store: maxStored, each: b.limits.FileBytes}
	if b.opts.Name == "" {
		b.opts.Name = "Dockerfile"
	}
	loader := loadContext(context, b.opts.Name, b.limits)
	b.context, b.truncated = loader, loader.full
	for _, i := range loader.issues {
		b.report(i)
	}
	if b.parse(dockerfile) {
		b.follow()
	}
	b.img.Truncated = b.truncated
	sortImage(&b.img)
	slices.SortStableFunc(b.issues, func(x, y Issue) int { return cmp.Compare(x.Line, y.Line) })
	return b.img, b.issues
}

// builder follows one Dockerfile.
type builder struct {
	opts    Options
	limits  Limits
	context *contextLoader
	lines   []string // of the Dockerfile
	lex     *dockershell.Lex
	escape  rune // line continuation, from the escape directive

	args   map[string]string // ARG before the first FROM
	stages []*stage
	layer  int // number of the current instruction, over all stages

	img       Image
	issues    []Issue
	seen      map[Issue]bool
	placed    int
	work      int
	shellWork int // spent on RUN instructions
	truncated bool
	budget    budget
	archives  map[string]listing // by source, member and whether zips count
}

// stage is one FROM and what follows it.
type stage struct {
	Stage
	platform string
	commands []instructions.Command
	parent   *stage // the stage it is based on, nil for images
	external string // the image it is based on

	state stageState
	tree  *tree
	gone  []*Placed // removed or replaced, but still in a layer

	env      map[string]string
	exported map[string]bool // variables that ENV sets
	declared map[string]bool // variables that ARG or ENV name, with or without a value
	workdir  string
	user     string
	shell    []string
	onbuild  []string
}

type stageState int

const (
	stageNew stageState = iota
	stageRunning
	stageDone
)

// report keeps an issue, once.
func (b *builder) report(i Issue) {
	if b.seen[i] || len(b.issues) >= maxIssues {
		return
	}
	b.seen[i] = true
	b.issues = append(b.issues, i)
}

func (b *builder) issue(code Code, line int, format string, args ...any) {
	b.report(Issue{Code: code, Line: line, Message: fmt.Sprintf(format, args...)})
}

// limit reports that a bound was reached, at the first place where it was.
func (b *builder) limit(line int, format string, args ...any) {
	b.truncated = true
	message := fmt.Sprintf(format, args...)
	if key := (Issue{Code: CodeLimit, Message: message}); !b.seen[key] {
		b.seen[key] = true
		b.issue(CodeLimit, line, "%s", message)
	}
}

// spend counts work and says whether there is any left.
func (b *builder) spend(n, line int) bool {
	if b.work += n; b.work > maxWork {
		b.limit(line, "the Dockerfile copies or changes too many files; what follows is not looked at")
		return false
	}
	return b.placed <= b.limits.Placed
}

// follow resolves the stages and runs the one to build.
func (b *builder) follow() {
	for _, s := range b.stages {
		b.resolveBase(s)
	}
	target := b.stages[len(b.stages)-1]
	if b.opts.Target != "" {
		if s := b.stageNamed(b.opts.Target, len(b.stages)); s != nil {
			target = s
		} else {
			b.issue(CodeStage, 0, "there is no stage %q to build", b.opts.Target)
		}
	}
	b.run(target)
	b.result(target)
}

// resolveBase finds out what a stage grows from.
func (b *builder) resolveBase(s *stage) {
	if s.Base == "" { // instructions without a FROM
		return
	}
	base := b.expandIn(b.fromEnv(), s.Base, s.Line)
	if base == "" {
		b.issue(CodeBase, s.Line, "FROM %s names no image: the variable has no value", s.Base)
		return
	}
	s.Base = base
	if p := b.stageNamed(base, s.Index); p != nil {
		s.parent = p
		return
	}
	if s.Name != "" && strings.EqualFold(base, s.Name) {
		b.issue(CodeCircular, s.Line, "stage %q is based on its own name, which means an image %q", s.Name, base)
	} else if later := b.stageNamed(base, len(b.stages)); later != nil {
		b.issue(CodeLater, s.Line, "FROM %s stands before the stage of that name, so it means an image", base)
	}
	s.external = base
}

// stageNamed finds a stage before the given index by name; the last one of that name wins.
func (b *builder) stageNamed(name string, before int) *stage {
	for i := min(before, len(b.stages)) - 1; i >= 0; i-- {
		if s := b.stages[i]; s.Name != "" && strings.EqualFold(s.Name, name) {
			return s
		}
	}
	return nil
}

// source finds the stage that --from names. It is nil for an image.
func (b *builder) source(s *stage, from string, line int) (*stage, bool) {
	var src *stage
	if n, err := strconv.Atoi(from); err == nil {
		if n < 0 || n >= len(b.stages) {
			b.issue(CodeStage, line, "--from=%s: the Dockerfile has %d stages, counted from 0", from, len(b.stages))
			return nil, false
		}
		src = b.stages[n]
	} else if src = b.stageNamed(from, len(b.stages)); src == nil {
		return nil, true
	}
	if src.state == stageRunning || src == s {
		b.issue(CodeCircular, line, "--from=%s: the stage depends on itself", from)
		return nil, false
	}
	if src.Index > s.Index {
		b.issue(CodeLater, line, "--from=%s: the stage comes later in the Dockerfile", from)
	}
	b.run(src)
	return src, true
}

// result describes the image of the target stage.
func (b *builder) result(s *stage) {
	img := &b.img
	for _, target := range slices.Sorted(maps.Keys(s.tree.files)) {
		f := s.tree.files[target]
		img.Files = append(img.Files, *f)
		img.Packed = append(img.Packed, b.packed(f)...)
	}
	for _, f := range s.gone {
		img.Files = append(img.Files, *f)
	}
	for _, st := range b.stages {
		img.Stages = append(img.Stages, st.Stage)
	}
	root := s
	for root.parent != nil {
		root = root.parent
	}
	img.Base = root.external
	img.Workdir, img.User, img.Shell = s.workdir, s.user, s.shell
	img.Env = s.env
	for name := range s.env {
		if !s.exported[name] {
			delete(img.Env, name)
		}
	}
}

func sortImage(img *Image) {
	slices.SortFunc(img.Files, comparePlaced)
	slices.SortStableFunc(img.RemoteAdds, func(x, y RemoteAdd) int { return cmp.Compare(x.Line, y.Line) })
	slices.SortStableFunc(img.Opaque, func(x, y OpaqueRun) int { return cmp.Compare(x.Line, y.Line) })
	slices.SortStableFunc(img.Unlisted, func(x, y Archive) int { return cmp.Compare(x.Line, y.Line) })
}

func comparePlaced(x, y Placed) int {
	return cmp.Or(
		cmp.Compare(x.Target, y.Target),
		cmp.Compare(x.Line, y.Line),
		cmp.Compare(x.RemovedLine, y.RemovedLine),
		cmp.Compare(x.layer, y.layer),
		cmp.Compare(x.Source, y.Source),
		cmp.Compare(x.Member, y.Member),
	)
}
