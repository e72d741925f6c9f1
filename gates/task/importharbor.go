package task

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Imported is a Harbor package rewritten as one of the registry's formats.
type Imported struct {
	Name   string         `json:"name"`
	Format Format         `json:"format"`
	Files  []ImportedFile `json:"-"`
	// Added names the files that the format asks for and the Harbor package does not have; their text is a frame
	// that the author should look at.
	Added []string `json:"added"`
	// Lost is what could not be carried over.
	Lost []Loss `json:"lost"`
}

// ImportedFile is one file of the new package: with content, or a copy of a file of the Harbor package.
type ImportedFile struct {
	Path    string // in the new package
	Content []byte // nil for a copy
	From    string // in the Harbor package
	// Executable is set for a copy of a file with mode 100755.
	Executable bool
}

// Loss is one thing of a Harbor package that has no place in the other format.
type Loss struct {
	Path  string `json:"path"`            // in the Harbor package
	Field string `json:"field,omitempty"` // of task.toml
	Why   string `json:"why"`
}

// ImportHarbor rewrites a Harbor package (task.toml, instruction.md, environment/, tests/, solution/) in a registry
// format: settings and instruction become task.md, tests/ becomes verifier/ and solution/ becomes oracle/ (reference
// pipeline, 1.5 and 1.9). It is pure: files are named, not copied.
func ImportHarbor(p Package, to Format) (Imported, error) {
	if p.Format != Harbor {
		return Imported{}, fmt.Errorf("import task %s: it is a %s package and needs no import", p.Name, p.Format)
	}
	if to != Native && to != PostTrain {
		return Imported{}, fmt.Errorf("import task %s: there is no format %q to import to; use %s or %s", p.Name, to, Native, PostTrain)
	}
	i := importer{from: p, to: Imported{Name: p.Name, Format: to, Added: []string{}, Lost: []Loss{}}}
	i.files()
	i.add("task.md", []byte("---\n"+i.frontmatter()+"---\n\n## prompt\n\n"+escapeHeadings(p.Prompt)+"\n"))
	i.complete()
	slices.SortFunc(i.to.Files, func(a, b ImportedFile) int { return strings.Compare(a.Path, b.Path) })
	return i.to, nil
}

type importer struct {
	from Package
	to   Imported
}

func (i *importer) lose(path, field, why string) {
	i.to.Lost = append(i.to.Lost, Loss{path, field, why})
}

func (i *importer) add(name string, content []byte) {
	i.to.Files = append(i.to.Files, ImportedFile{Path: name, Content: content})
}

func (i *importer) has(name string) bool {
	return slices.ContainsFunc(i.to.Files, func(f ImportedFile) bool { return f.Path == name })
}

// files moves the package's files to where the new format has them.
func (i *importer) files() {
	for _, e := range i.from.Files {
		top, below, _ := strings.Cut(e.Path, "/")
		to := e.Path
		switch {
		case e.Path == "task.toml", e.Path == "instruction.md":
			continue
		case e.Kind != File:
			i.lose(e.Path, "", "it is a symbolic link or submodule, which a collection cannot have")
			continue
		case below == "":
		case top == "tests":
			to = "verifier/" + below
		case top == "solution":
			to = "oracle/" + below
		case top == "verifier", top == "oracle":
			i.lose(e.Path, "", "a directory of this name has a meaning in the new format")
			continue
		}
		i.to.Files = append(i.to.Files, ImportedFile{Path: to, From: e.Path, Executable: e.Executable})
	}
	if text, err := i.from.ReadText(i.from.OraclePath); err == nil && strings.Contains(string(text), "/solution/") {
		i.lose(i.from.OraclePath, "", "it names /solution/, and the new format mounts the reference solution at /oracle/")
	}
	for _, name := range []string{"environment/docker-compose.yaml", "environment/docker-compose.yml"} {
		if i.has(name) {
			i.lose(name, "", "the file is copied, but the arena builds environment/Dockerfile and starts no other services")
		}
	}
}

// complete adds what the format requires and Harbor does not have.
func (i *importer) complete() {
	frame := func(name, content string) {
		if !i.has(name) {
			i.add(name, []byte(content))
			i.to.Added = append(i.to.Added, name)
		}
	}
	if image, _ := i.from.Frontmatter.Get("environment", "docker_image").AsText(); image != "" && !strings.ContainsAny(image, " \t\r\n") {
		frame("environment/Dockerfile", "FROM "+image+"\n")
	}
	if !i.has("oracle/solve.sh") {
		i.lose("solution/solve.sh", "", "there is no reference solution; the task will need passing controls")
	}
	if i.to.Format != PostTrain {
		return
	}
	frame("verifier/verifier.md", "---\ndocument_version: \"0.3\"\nverifier:\n  name: tests\n  default_strategy: tests\n  strategies:\n    tests:\n      type: script\n      command: ./test.sh\n"+
		"  rubric:\n    combine: weighted_sum\n    dimensions:\n      correctness:\n        weight: 1.0\n        source: tests\n  outputs:\n    reward_text: /logs/verifier/reward.txt\n---\n\nThe tests decide; see rubrics/verifier.md.\n")
	frame("verifier/rubrics/verifier.md", "# Rubric\n\nAn attempt is right when every test of test_outputs.py passes.\n")
	for _, name := range []string{"verifier/test.sh", "verifier/test_outputs.py", "environment/Dockerfile"} {
		if !i.has(name) {
			i.lose(name, "", "the format requires this file, and the Harbor package has nothing to make it from")
		}
	}
}

// carried says where the keys of a table of task.toml go. A key that is not listed has no place.
type carried struct {
	from string   // the table in task.toml
	to   string   // the block of the frontmatter
	keys []string // nil: all
}

// tables are the tables of task.toml that a format has a place for (reference pipeline, 1.3).
func tables(to Format) []carried {
	agent := []string{"timeout_sec", "user", "prompt_prefix", "network_mode", "allowed_hosts"}
	verifier := []string{"type", "timeout_sec", "env", "user", "service", "judge", "reward_range", "network_mode", "allowed_hosts", "pytest_plugins"}
	sandbox := []string{"build_timeout_sec", "docker_image", "os", "cpus", "memory_mb", "storage_mb", "gpus", "gpu_types", "mcp_servers", "env", "skills_dir", "healthcheck", "workdir", "network_mode", "allowed_hosts", "allow_internet"}
	if to == PostTrain {
		return []carried{
			{"metadata", "metadata", nil},
			{"agent", "agent", []string{"timeout_sec"}},
			{"verifier", "verifier", []string{"timeout_sec", "env"}},
			{"environment", "environment", []string{"build_timeout_sec", "cpus", "memory_mb", "storage_mb", "gpus", "allow_internet", "env", "workdir"}},
		}
	}
	return []carried{
		{"task", "task", []string{"name", "version", "description", "authors", "keywords"}},
		{"metadata", "metadata", nil},
		{"agent", "agent", agent},
		{"verifier", "verifier", verifier},
		{"environment", "sandbox", sandbox},
		{"solution", "oracle", []string{"env", "timeout_sec"}},
	}
}

// frontmatter writes the settings of task.toml in the new format and notes what has no place in it.
func (i *importer) frontmatter() string {
	version := Field{Key: "version", Value: quoted("1.0")}
	if i.to.Format == Native {
		version = Field{Key: "schema_version", Value: quoted("1.3")}
	}
	front := Value{Kind: Map, Fields: []Field{version}}
	known := map[string]bool{"version": true, "schema_version": true}
	for _, table := range tables(i.to.Format) {
		known[table.from] = true
		block := Value{Kind: Map}
		for _, f := range i.from.Frontmatter.Get(table.from).Fields {
			f = i.rewrite(table.to, f)
			switch {
			case empty(f.Value):
			case block.Has(f.Key):
				i.lose("task.toml", table.from+"."+f.Key, "another setting already says it")
			case table.keys == nil || slices.Contains(table.keys, f.Key):
				block.Fields = append(block.Fields, f)
			case f.Key == "docker_image": // becomes the Dockerfile
			default:
				i.lose("task.toml", table.from+"."+f.Key, "the format has no such setting")
			}
		}
		if table.to == "task" && !block.Has("name") {
			block.Fields = append([]Field{{Key: "name", Value: quoted("imported/" + i.from.Name)}}, block.Fields...)
		}
		if len(block.Fields) > 0 || table.to != "oracle" {
			front.Fields = append(front.Fields, Field{Key: table.to, Value: block})
		}
	}
	for _, f := range i.from.Frontmatter.Fields {
		if !known[f.Key] && !empty(f.Value) {
			i.lose("task.toml", f.Key, "the format has no such setting")
		}
	}
	for _, key := range partsOf(i.to.Format).metadata {
		if !front.Get("metadata").Has(key) {
			i.lose("task.toml", "metadata."+key, "the format requires it, and task.toml does not say it; add it to task.md")
		}
	}
	var b strings.Builder
	writeYAML(&b, front, 0)
	return b.String()
}

// size is an amount of memory or storage as Harbor also writes it.
var size = regexp.MustCompile(`^([0-9]{1,6})([MG])i?B?$`)

// rewrite brings a setting of the environment into the spelling of the new format.
func (i *importer) rewrite(block string, f Field) Field {
	if block != "sandbox" && block != "environment" {
		return f
	}
	if f.Key == "memory" || f.Key == "storage" {
		if m := size.FindStringSubmatch(f.Value.Scalar); m != nil {
			amount, _ := strconv.Atoi(m[1]) // six digits at most
			if m[2] == "G" {
				amount *= 1024
			}
			return Field{Key: f.Key + "_mb", Value: Value{Kind: Number, Scalar: strconv.Itoa(amount)}}
		}
	}
	if allowed, ok := f.Value.AsBool(); f.Key == "allow_internet" && ok && block == "sandbox" {
		mode := "public"
		if !allowed {
			mode = "no-network"
		}
		return Field{Key: "network_mode", Value: quoted(mode)}
	}
	return f
}

func quoted(text string) Value { return Value{Kind: Text, Scalar: text, Quoted: true} }

// empty reports whether a value says nothing.
func empty(v Value) bool {
	switch v.Kind {
	case Absent, Null:
		return true
	case List:
		return len(v.Items) == 0
	case Map:
		return !slices.ContainsFunc(v.Fields, func(f Field) bool { return !empty(f.Value) })
	default:
		return false
	}
}

// sectionHeading is a line that the pipeline's reader would take for the heading of a section.
var sectionHeading = regexp.MustCompile(`(?mi)^##([ \t]+(?:prompt|user-persona|role:|scene:))`)

// escapeHeadings keeps lines of an instruction from ending the prompt.
func escapeHeadings(prompt string) string { return sectionHeading.ReplaceAllString(prompt, `\##$1`) }
