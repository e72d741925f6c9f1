package task

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// parts is what a format requires (agent guide, "Submit an environment collection"; reference answers 11–13).
type parts struct {
	maps     []string // top-level keys that hold a map
	metadata []string // keys that metadata must have
	sandbox  string   // how the format spells the sandbox settings …
	other    string   // … and the spelling of the other format
	version  string   // the key of the document version
	files    []string
}

func partsOf(f Format) parts {
	if f == Native {
		return parts{
			maps:    []string{"task", "metadata", "agent", "verifier", "sandbox"},
			sandbox: "sandbox", other: "environment", version: "schema_version",
			files: []string{"verifier/test.sh"},
		}
	}
	return parts{
		maps:     []string{"metadata", "agent", "verifier", "environment"},
		metadata: []string{"author_name", "author_email", "category"},
		sandbox:  "environment", other: "sandbox", version: "version",
		files: []string{"verifier/test.sh", "verifier/test_outputs.py", "verifier/verifier.md", "oracle/solve.sh"},
	}
}

// checker reads one package and collects what is wrong with it.
type checker struct {
	problems
	pkg    Package
	limits Limits
}

// readPackage reads the package of a directory. The package is usable by the static gates whatever the problems say.
func readPackage(tree Tree, dir, name string, entries []Entry, limits Limits) (Package, []Problem) {
	c := checker{problems{task: name}, newPackage(tree, dir, name, entries, limits), limits}
	if !nameRule.MatchString(name) {
		c.fail(Problem{
			Code: "task-name", Message: fmt.Sprintf("the directory name %q is not a task name", short(name)),
			Fix: "use 1–128 letters, digits, dots, dashes and underscores, beginning with a letter or digit",
		})
	}
	if len(entries) > limits.MaxFilesPerTask {
		c.fail(Problem{
			Code: "too-many-files", Path: c.pkg.Files[limits.MaxFilesPerTask].Path,
			Message: fmt.Sprintf("the package has %d files; at most %d are accepted", len(entries), limits.MaxFilesPerTask),
			Fix:     "pack the data into an archive or generate it in the image build",
		})
	}
	if _, ok := c.pkg.Lookup("task.md"); ok {
		c.taskMD()
	} else {
		c.harbor()
	}
	return c.pkg, c.list
}

// taskMD reads and checks a package of one of the two registry formats.
func (c *checker) taskMD() {
	c.pkg.Format, c.pkg.PromptPath = PostTrain, "task.md"
	if text, ok := c.text("task.md"); ok {
		doc := c.frontmatter(text)
		c.prompt(doc)
	}
	need := partsOf(c.pkg.Format)
	if c.pkg.Frontmatter.Kind == Map {
		c.keys(need)
		c.values(need.sandbox)
	}
	c.files(need)
	c.dockerfile()
	c.twins()
}

// raw reads a file for checking and reports why it cannot be read.
func (c *checker) raw(name string) ([]byte, bool) {
	raw, err := c.pkg.ReadText(name)
	if err == nil {
		return raw, true
	}
	p := Problem{Code: "unreadable", Path: name, Message: "the file cannot be read", Fix: "make it a readable regular file"}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p = missing(name)
	case errors.Is(err, ErrNotRegular):
		p = notRegular(name)
	case errors.Is(err, ErrOversize):
		p.Code, p.Message, p.Fix = "file-too-large", fmt.Sprintf("the file is larger than %d KiB", c.limits.MaxTextBytes>>10), "make it smaller"
	}
	c.fail(p)
	c.pkg.Unread = append(c.pkg.Unread, Unread{name, 0, p.Message})
	return nil, false
}

// text reads a file that must be UTF-8 and returns it with LF line ends and without a byte order mark.
func (c *checker) text(name string) (string, bool) {
	raw, ok := c.raw(name)
	if !ok {
		return "", false
	}
	text, bom, err := decodeText(raw)
	if bom && name == "task.md" {
		c.fail(Problem{
			Code: "byte-order-mark", Path: name, Line: 1, Message: "the file begins with a byte order mark, which the pipeline takes for text",
			Fix: "save it as UTF-8 without a byte order mark",
		})
	}
	if err != nil {
		c.syntax("not-utf8", name, err)
		return "", false
	}
	return text, true
}

func missing(name string) Problem {
	return Problem{Code: "file-missing", Path: name, Message: "the file is missing", Fix: "add it"}
}

func notRegular(name string) Problem {
	return Problem{Code: "not-regular", Path: name, Message: "is a symbolic link or submodule, which is never followed", Fix: "put the file itself there"}
}

// syntax reports a parser's refusal, as a structural error and as a file that the gates could not read.
func (c *checker) syntax(code, name string, err error) {
	p := Problem{Code: code, Path: name, Message: err.Error()}
	if s, ok := errors.AsType[*syntaxError](err); ok {
		p.Line, p.Fix = s.line, s.fix
	}
	c.fail(p)
	c.pkg.Unread = append(c.pkg.Unread, Unread{name, p.Line, p.Message})
}

// frontmatter parses the keys of task.md and decides the format.
func (c *checker) frontmatter(text string) document {
	doc, err := splitDocument(text)
	if err != nil {
		c.syntax("frontmatter", "task.md", err)
		return doc
	}
	v, err := parseYAML(doc.front, doc.frontLine, c.limits)
	switch {
	case err != nil:
		c.syntax("frontmatter", "task.md", err)
	case v.Kind != Map:
		c.syntax("frontmatter", "task.md", &syntaxError{doc.frontLine, "the frontmatter is not a list of keys and values", "write key: value lines"})
	default:
		c.pkg.Frontmatter = v
		if v.Has("schema_version") && v.Has("task") {
			c.pkg.Format = Native
		}
		c.pkg.Credit = creditOf(v.Get("metadata"))
	}
	return doc
}

// prompt finds the "## prompt" section. Without one the pipeline would take the text before the first reserved
// heading, so the gates do the same while validation refuses the package.
func (c *checker) prompt(doc document) {
	sections, fenced := splitSections(doc.body, doc.bodyLine)
	chosen := sections[0]
	seen := map[string]int{}
	for _, s := range sections[1:] {
		if first, twice := seen[s.name]; twice {
			c.fail(Problem{
				Code: "section-twice", Path: "task.md", Line: s.heading, Message: fmt.Sprintf("the section %q stands twice (first on line %d)", short(s.name), first),
				Fix: "merge them; write \\## at the start of a line that is not meant as a heading",
			})
			continue
		}
		seen[s.name] = s.heading
		if s.name == "prompt" {
			chosen = s
		}
	}
	c.pkg.Prompt, c.pkg.PromptLine = chosen.text, chosen.line
	for _, line := range fenced {
		c.warn(Problem{
			Code: "heading-in-fence", Path: "task.md", Line: line, Message: "a section heading stands inside a code fence; the pipeline's reader would cut the prompt there",
			Fix: "write it as \\## or indent it",
		})
	}
	switch {
	case seen["prompt"] == 0:
		c.fail(Problem{
			Code: "prompt-missing", Path: "task.md", Line: doc.bodyLine, Message: `task.md has no "## prompt" section outside code fences`,
			Fix: `put a "## prompt" heading above the text that the agent should read`,
		})
	case chosen.text == "":
		c.fail(Problem{
			Code: "prompt-empty", Path: "task.md", Line: chosen.heading, Message: `the "## prompt" section is empty`,
			Fix: "say what the agent should do",
		})
	}
	if i := strings.Index(doc.body, "[REPLACE:"); i >= 0 {
		c.fail(Problem{
			Code: "placeholder-left", Path: "task.md", Line: doc.bodyLine + strings.Count(doc.body[:i], "\n"),
			Message: "a [REPLACE: …] placeholder of a template is still there", Fix: "replace it with your text",
		})
	}
}

// keys checks the required keys and the spellings that exclude each other.
func (c *checker) keys(need parts) {
	front := c.pkg.Frontmatter
	hint := ""
	if front.Has("schema_version") != front.Has("task") {
		hint = "; a BenchFlow-native task has both schema_version and task, this one has only one and is read as a PostTrain task"
	}
	c.exclusive(front, need.sandbox, need.other)
	c.exclusive(front, "schema_version", "version")
	c.exclusive(front, "oracle", "solution")
	if !front.Has(need.version) {
		c.missingKey(need.version, "add "+need.version+hint)
	}
	c.version(front.Get(need.version), need.version)
	for _, key := range need.maps {
		v := front.Get(key)
		switch {
		case key == need.sandbox && v.Kind == Absent && front.Has(need.other):
			c.fail(Problem{
				Code: "frontmatter-wrong-key", Path: "task.md", Line: front.KeyLine(need.other), Field: need.other,
				Message: fmt.Sprintf("a %s task spells its sandbox settings %q", c.pkg.Format, need.sandbox), Fix: "rename the key to " + need.sandbox + hint,
			})
		case v.Kind == Absent:
			c.missingKey(key, "add a "+key+" block"+hint)
		case v.Kind == Null:
			c.warn(Problem{Code: "frontmatter-empty", Path: "task.md", Line: front.KeyLine(key), Field: key, Message: "the block is empty", Fix: "fill it, or write " + key + ": {}"})
		case v.Kind != Map:
			c.fail(Problem{Code: "frontmatter-not-map", Path: "task.md", Line: front.KeyLine(key), Field: key, Message: "must hold keys and values", Fix: "indent its keys below it"})
		}
	}
	c.metadata(need)
	c.taskName()
}

func (c *checker) missingKey(key, fix string) {
	c.fail(Problem{Code: "frontmatter-missing-key", Path: "task.md", Line: c.pkg.Frontmatter.Line, Field: key, Message: "the frontmatter has no such key", Fix: fix})
}

func (c *checker) exclusive(front Value, keep, drop string) {
	if front.Has(keep) && front.Has(drop) {
		c.fail(Problem{
			Code: "frontmatter-alias-conflict", Path: "task.md", Line: front.KeyLine(drop), Field: drop,
			Message: fmt.Sprintf("%s and %s are two spellings of one key and both are there", keep, drop), Fix: "keep " + keep + " and remove " + drop,
		})
	}
}

func (c *checker) version(v Value, key string) {
	text, ok := v.AsText()
	switch {
	case v.Kind == Absent:
	case !ok || text == "":
		c.fail(Problem{Code: "frontmatter-version", Path: "task.md", Line: v.Line, Field: key, Message: "is not a version", Fix: `write a quoted version such as "1.0"`})
	case c.pkg.Format != Native:
	case text != "1" && !strings.HasPrefix(text, "1."):
		c.fail(Problem{Code: "frontmatter-version", Path: "task.md", Line: v.Line, Field: key, Message: fmt.Sprintf("version %q is not supported; the major version must be 1", short(text)), Fix: `write a 1.x version such as "1.3"`})
	case v.Kind == Number:
		c.warn(Problem{Code: "frontmatter-version", Path: "task.md", Line: v.Line, Field: key, Message: "an unquoted version is read as a number, which turns 1.10 into 1.1", Fix: fmt.Sprintf("write %q", text)})
	}
}

func (c *checker) metadata(need parts) {
	metadata := c.pkg.Frontmatter.Get("metadata")
	if metadata.Kind != Map {
		return
	}
	for _, key := range need.metadata {
		if !metadata.Has(key) {
			c.fail(Problem{
				Code: "frontmatter-missing-key", Path: "task.md", Line: c.pkg.Frontmatter.KeyLine("metadata"), Field: "metadata." + key,
				Message: "the metadata has no such key", Fix: "add " + key + " below metadata",
			})
		}
	}
	if metadata.Flow && c.pkg.Format == PostTrain {
		c.warn(Problem{
			Code: "metadata-flow-style", Path: "task.md", Line: metadata.Line, Field: "metadata",
			Message: "metadata in braces is fine here, but the starting kit's own checker reads line by line and will not see the keys", Fix: "write one key a line, indented",
		})
	}
}

// taskName checks the optional name in the frontmatter of native tasks, which upstream wants as org/name.
func (c *checker) taskName() {
	if c.pkg.Format != Native || c.pkg.Frontmatter.Get("task").Kind != Map {
		return
	}
	name, line := c.pkg.TaskName()
	if line == 0 {
		line = c.pkg.Frontmatter.KeyLine("task")
	}
	if !strings.Contains(name, "/") {
		c.warn(Problem{Code: "task-name-bare", Path: "task.md", Line: line, Field: "task.name", Message: "is not of the form org/name", Fix: "write your organization or user name, a slash, and the task's name"})
	}
}

// files checks that the required files are there and regular.
func (c *checker) files(need parts) {
	for _, name := range need.files {
		c.required(name)
	}
	if c.pkg.Format == PostTrain && !slices.ContainsFunc(c.pkg.Files, isRubric) {
		c.fail(Problem{Code: "rubric-missing", Path: "verifier/rubrics", Message: "there is no rubric", Fix: "add at least one verifier/rubrics/*.md"})
	}
}

func isRubric(e Entry) bool {
	name, ok := strings.CutPrefix(e.Path, "verifier/rubrics/")
	return ok && e.Kind == File && strings.HasSuffix(name, ".md") && !strings.Contains(name, "/")
}

// required reports a missing file, with a pointer to where an older layout keeps it.
func (c *checker) required(name string) bool {
	e, ok := c.pkg.Lookup(name)
	if ok && e.Kind == File {
		return true
	}
	p := missing(name)
	if ok {
		p = notRegular(name)
		c.pkg.Unread = append(c.pkg.Unread, Unread{name, 0, p.Message})
	}
	for _, move := range [][2]string{{"verifier/", "tests/"}, {"oracle/", "solution/"}} {
		if old, found := strings.CutPrefix(name, move[0]); found && !ok {
			if _, there := c.pkg.Lookup(move[1] + old); there {
				p.Fix = "rename the directory " + move[1] + " to " + move[0]
			}
		}
	}
	c.fail(p)
	return false
}

func (c *checker) dockerfile() {
	const name = "environment/Dockerfile"
	if !c.required(name) {
		return
	}
	raw, ok := c.raw(name)
	if !ok {
		return
	}
	// The builder takes any bytes and skips a byte order mark.
	problem, warning := checkDockerfile(strings.TrimPrefix(string(raw), "\ufeff"))
	if problem != nil {
		c.fail(Problem{Code: "dockerfile-no-from", Path: name, Line: problem.line, Message: problem.message, Fix: problem.fix})
	}
	if warning != nil {
		c.warn(Problem{Code: "dockerfile-arg-first", Path: name, Line: warning.line, Message: warning.message, Fix: warning.fix})
	}
}

// twins warns of directories and files that describe the same thing twice; the pipeline reads one of them.
func (c *checker) twins() {
	for _, pair := range [][2]string{{"verifier", "tests"}, {"oracle", "solution"}} {
		if c.pkg.HasDir(pair[0]) && c.pkg.HasDir(pair[1]) {
			c.warn(Problem{Code: "alias-drift", Path: pair[1], Message: fmt.Sprintf("%s/ and %s/ are both there; only %s/ is used", pair[0], pair[1], pair[0]), Fix: "remove " + pair[1] + "/"})
		}
	}
	for _, name := range []string{"task.toml", "instruction.md"} {
		if _, ok := c.pkg.Lookup(name); ok {
			c.warn(Problem{Code: "alias-drift", Path: name, Message: name + " stands beside task.md; only task.md is used", Fix: "remove it"})
		}
	}
}
