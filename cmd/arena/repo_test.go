package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The rules about the code, as tests (the table of the design's §8). Each rule
// is a function from the source to its violations, so that a second test can
// plant one and see it found.

// topLevel lists what may stand at the top of the repository: the folders of the
// house, and the files that tools expect there. Hidden entries are free.
func topLevel() []string {
	return []string{
		"cmd", "store", "gates", "protocol", "tui", "migrations", "configs", "fixture",
		"go.mod", "go.sum", "README.md", "LICENSE",
	}
}

// lines says on which line each package stands. A package imports only from
// lower lines; a package that is not here has no place yet.
func lines() map[string]int {
	all := map[string]int{}
	for line, packages := range [][]string{
		0: {"gates/report", "configs", "migrations", "fixture", "tui/look", "cmd/arena/hush", "protocol/leaktest"},
		1: {"protocol"},
		2: {
			"protocol/hub", "protocol/jobs", "protocol/joblog", "protocol/artifacts", "protocol/score", "protocol/leaderboard", "protocol/compose",
			"gates", "gates/task", "gates/image", "gates/shell", "gates/pysyntax", "gates/pysyntax/pyfacts", "gates/overlap", "gates/dynamic", "gates/adversary",
		},
		3: {"protocol/arena", "store", "protocol/api", "protocol/engine", "protocol/episode", "protocol/outbound", "protocol/hub/blobcache", "protocol/jobs/jobdir"},
		4: {
			"protocol/client", "protocol/hub/hfhub", "protocol/hub/github", "protocol/hub/bundle", "protocol/jobs/hfjobs", "protocol/jobs/k8sjobs", "protocol/jobs/local",
			"protocol/jobs/simulated", "protocol/relay", "protocol/webhooks", "protocol/episode/check", "gates/controls", "tui/nav", "protocol/engine/enginetest", "protocol/server/pages",
		},
		5: {
			"tui", "tui/screen", "tui/widget/palette", "fixture/world", "fixture/world/chaos", "protocol/server", "protocol/mcpserver",
			"protocol/hub/hubtest", "protocol/jobs/jobstest", "protocol/jobs/k8sjobs/k8stest", "store/storetest", "store/backups", "tui/tuitest", "protocol/episode/episodetest",
		},
		6: {"cmd/arena"},
	} {
		for _, p := range packages {
			all[p] = line
		}
	}
	return all
}

// lineOf is the line that a package stands on. Widgets are plain, and so on the
// ground, unless lines says otherwise.
func lineOf(dir string) (int, bool) {
	line, ok := lines()[dir]
	return line, ok || strings.HasPrefix(dir, "tui/widget/")
}

// family names the packages that may import each other on one line: gates uses
// its parts, tui its own.
func family(dir string) string {
	for _, f := range []string{"gates", "tui"} {
		if dir == f || strings.HasPrefix(dir, f+"/") {
			return f
		}
	}
	return ""
}

// folders says where the arrows between top-level folders may point.
func folders() map[string][]string {
	return map[string][]string{
		"cmd":        {"tui", "fixture", "store", "protocol", "gates", "configs", "migrations"},
		"fixture":    {"store", "protocol", "gates", "configs"},
		"tui":        {"protocol"},
		"store":      {"protocol", "gates", "migrations"},
		"protocol":   {"gates", "configs"},
		"gates":      nil,
		"configs":    nil,
		"migrations": nil,
	}
}

// ban is something that a room must never reach, and why.
type ban struct {
	rooms  []string
	never  []string // folders of ours or import paths
	direct bool     // only an import in the room itself counts
	why    string
}

// bans is the table of rooms.
func bans() []ban {
	var pure, edges []string
	for dir, line := range lines() {
		switch {
		case line == 1 || line == 2:
			pure = append(pure, dir)
		case line == 4 && dir != "protocol/client" && dir != "tui/nav" && dir != "gates/controls":
			edges = append(edges, dir)
		}
	}
	slices.Sort(pure)
	slices.Sort(edges)
	edges = append(edges, "protocol/engine", "protocol/episode")
	return []ban{
		{rooms: pure, never: []string{"net", "net/http", "database/sql", "os/exec"}, why: "rules and parsers must be replayable from a file, and fuzzable"},
		{rooms: pure, never: []string{"os", "log/slog", "log", "math/rand"}, direct: true, why: "rules and parsers touch no process, write no log and draw no luck"},
		{rooms: []string{"protocol/arena"}, never: append([]string{"database/sql", "net/http", "store"}, edges...), why: "the mock world and the server must share the service"},
		{rooms: []string{"store"}, never: []string{"protocol/arena", "net/http"}, why: "rules live in one place, and no transaction waits for a network"},
		{rooms: []string{"protocol/server"}, never: []string{"store", "modernc.org/sqlite", "tui"}, why: "no handler writes SQL"},
		{rooms: append([]string{"protocol/server", "protocol/arena", "store", "protocol/api", "protocol/client", "tui"}, pure...), never: []string{"github.com/modelcontextprotocol/go-sdk/mcp"}, why: "a heavy library stays behind its own package"},
		{rooms: []string{"protocol/server"}, never: []string{"database/sql"}, direct: true, why: "no handler writes SQL"},
		{rooms: []string{"protocol/client", "tui", "tui/screen", "tui/nav"}, never: []string{"store", "protocol/arena", "protocol/server"}, why: "the command line and the dashboard work against a remote arena"},
		{rooms: edges, never: []string{"store", "protocol/arena"}, why: "edges are replaceable"},
		{rooms: []string{"fixture/world"}, never: []string{"net/http"}, why: "the mock world is offline by construction"},
	}
}

// processEdges are the rooms beside cmd/arena that may use one of the names that
// read the process, each with its reason.
func processEdges() map[string]string {
	return map[string]string{
		"protocol/engine/enginetest os.Getenv": "DOCKER_HOST names the engine that tests use",
		"protocol/hub/hubtest time.Now":        "a fake has a clock of its own, which tests replace",
		"protocol/relay time.Now":              "deadlines of connections are the system's own time",
		"protocol/relay time.Since":            "how long a connection held decides how soon the next is tried",
		"protocol/server time.Now":             "deadlines of connections are the system's own time",
		"tui/tuitest time.Now":                 "the test helper that plays the program's loop waits for real commands",
		"tui/tuitest time.Until":               "the test helper that plays the program's loop waits for real commands",
		"tui/tuitest os.Getenv":                "ARENA_UPDATE rewrites golden files",
		"tui/widget/widgettest os.Getenv":      "ARENA_UPDATE rewrites golden files",
	}
}

func TestTopLevel(t *testing.T) {
	complain(t, checkTopLevel(os.DirFS(root)))
}

func TestImportLines(t *testing.T) { complain(t, checkLines(load(t))) }

func TestImportBans(t *testing.T) {
	r := load(t)
	complain(t, checkBans(r, outside(t, r)))
}

func TestPackagesExplainThemselves(t *testing.T) { complain(t, checkPackageComments(load(t))) }

func TestExportedNamesAreDocumented(t *testing.T) { complain(t, checkDocs(load(t))) }

func TestPackageNames(t *testing.T) { complain(t, checkNames(load(t))) }

func TestClockEnvironmentAndExit(t *testing.T) { complain(t, checkProcess(load(t))) }

func TestPackageLevelVariables(t *testing.T) { complain(t, checkVariables(load(t))) }

// root is the top of the repository, from this folder.
const root = "../.."

func load(t *testing.T) *repository {
	t.Helper()
	r, err := readRepository(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.packages) < 10 {
		t.Fatalf("only %d packages were found", len(r.packages))
	}
	return r
}

// outside is what other modules import, as far as the pure rooms reach them.
func outside(t *testing.T, r *repository) map[string][]string {
	t.Helper()
	all := map[string]bool{}
	for _, b := range bans() {
		for _, room := range b.rooms {
			if p := r.packages[room]; p != nil && !b.direct {
				for name := range r.reach(p, nil) {
					if _, ours := lineOf(name); !ours && r.packages[name] == nil {
						all[name] = true
					}
				}
			}
		}
	}
	imports, err := outsideImports(root, slices.Sorted(maps.Keys(all)))
	if err != nil {
		t.Fatal(err)
	}
	return imports
}

func complain(t *testing.T, violations []string) {
	t.Helper()
	for _, v := range violations {
		t.Error(v)
	}
}

// checkTopLevel finds entries that have no place at the top. What .gitignore
// names there, such as the built binary, is not part of the repository.
func checkTopLevel(files fs.FS) []string {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return []string{err.Error()}
	}
	ignored, err := fs.ReadFile(files, ".gitignore")
	if err != nil {
		return []string{err.Error()}
	}
	skip := strings.Fields(string(ignored))
	var bad []string
	for _, e := range entries {
		if slices.Contains(skip, "/"+e.Name()) || slices.Contains(skip, "/"+e.Name()+"/") {
			continue
		}
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(topLevel(), e.Name()) {
			bad = append(bad, fmt.Sprintf("%s: the top level holds only %s", e.Name(), strings.Join(topLevel(), " ")))
		}
	}
	return bad
}

// checkLines finds imports that point up or sideways, between packages and
// between top-level folders.
func checkLines(r *repository) []string {
	var bad []string
	for _, p := range r.sorted() {
		mine, ok := lineOf(p.dir)
		if !ok {
			bad = append(bad, fmt.Sprintf("%s: is on no line; give it one in lines()", p.dir))
			continue
		}
		own, _ := r.imports(p)
		for _, dir := range slices.Sorted(maps.Keys(own)) {
			other, known := lineOf(dir)
			switch {
			case !known: // reported above
			case other < mine, other == mine && family(dir) != "" && family(dir) == family(p.dir):
			default:
				bad = append(bad, fmt.Sprintf("%s: %s (line %d) imports %s (line %d); a package imports only from lower lines", own[dir], p.dir, mine, dir, other))
			}
			from, to := top(p.dir), top(dir)
			if from != to && !slices.Contains(folders()[from], to) {
				bad = append(bad, fmt.Sprintf("%s: the folder %s must not import from %s", own[dir], from, to))
			}
		}
	}
	return bad
}

func top(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// checkBans finds rooms that reach what they must not.
func checkBans(r *repository, outside map[string][]string) []string {
	var bad []string
	for _, b := range bans() {
		for _, room := range b.rooms {
			p := r.packages[room]
			if p == nil {
				continue
			}
			found := r.reach(p, outside)
			if b.direct {
				_, found = r.imports(p)
			}
			for _, name := range b.never {
				via, ok := found[name]
				if ok && name != room {
					bad = append(bad, fmt.Sprintf("%s must not reach %s: %s (%s)", room, name, b.why, via))
				}
			}
		}
	}
	return bad
}

// checkPackageComments finds packages that do not say what they are for, and
// long comments outside doc.go.
func checkPackageComments(r *repository) []string {
	var bad []string
	for _, p := range r.sorted() {
		documented := false
		for _, name := range slices.Sorted(maps.Keys(p.files)) {
			doc := p.files[name].Doc
			if doc == nil {
				continue
			}
			if documented {
				bad = append(bad, fmt.Sprintf("%s/%s: the package has a second comment", p.dir, name))
			}
			documented = true
			if n := strings.Count(doc.Text(), "\n"); n > 10 && name != "doc.go" {
				bad = append(bad, fmt.Sprintf("%s/%s: a package comment of %d lines belongs into doc.go", p.dir, name, n))
			}
			start := "Package " + p.name + " "
			if p.name == "main" {
				start = "Command " + path.Base(p.dir) + " "
			}
			if !strings.HasPrefix(doc.Text(), start) {
				bad = append(bad, fmt.Sprintf("%s/%s: the comment does not begin with %q", p.dir, name, start))
			}
		}
		if !documented {
			bad = append(bad, p.dir+": has no package comment")
		}
	}
	return bad
}

// checkDocs finds exported names without a comment, outside cmd.
func checkDocs(r *repository) []string {
	var bad []string
	for _, p := range r.sorted() {
		if top(p.dir) == "cmd" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(p.files)) {
			for _, d := range p.files[name].Decls {
				for _, n := range undocumented(d) {
					bad = append(bad, fmt.Sprintf("%s: %s has no comment", r.at(n), n.Name))
				}
			}
		}
	}
	return bad
}

// undocumented lists the exported names of a declaration that have no comment.
// One comment on a group of constants or variables is enough for the group.
func undocumented(d ast.Decl) []*ast.Ident {
	var bare []*ast.Ident
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
			bare = append(bare, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && (d.Doc == nil || len(d.Specs) > 1) {
					bare = append(bare, s.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						bare = append(bare, n)
					}
				}
			}
		}
	}
	return bare
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	exported := false
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			exported = id.IsExported()
			return false
		}
		return true
	})
	return exported
}

// checkNames finds package names that two folders share, and names that say
// nothing.
func checkNames(r *repository) []string {
	var bad []string
	seen := map[string]string{}
	for _, p := range r.sorted() {
		if other := seen[p.name]; other != "" {
			bad = append(bad, fmt.Sprintf("%s and %s are both called %s", other, p.dir, p.name))
		}
		seen[p.name] = p.dir
		switch p.name {
		case "util", "utils", "common", "helper", "helpers", "misc", "base", "shared", "types":
			bad = append(bad, fmt.Sprintf("%s: %s says nothing about what is inside", p.dir, p.name))
		}
	}
	return bad
}

// checkProcess finds code that reads the clock, the environment or luck, or ends
// the process, outside the command and the listed edges.
func checkProcess(r *repository) []string {
	banned := map[string]string{
		"time.Now": "take the time as a value or a Now function", "time.Since": "take the time as a value", "time.Until": "take the time as a value",
		"os.Getenv": "take it as an option", "os.LookupEnv": "take it as an option", "os.Environ": "take it as an option",
		"os.Exit": "return an error", "log.Fatal": "return an error", "log.Fatalf": "return an error",
	}
	seeded := []string{"New", "NewPCG", "NewChaCha8", "Rand", "PCG", "ChaCha8", "Source", "NewZipf", "Zipf"}
	var bad []string
	for _, p := range r.sorted() {
		if top(p.dir) == "cmd" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(p.files)) {
			selectors(p.files[name], func(n ast.Node, pkg, sel string) {
				instead, ok := banned[pkg+"."+sel]
				if ok && processEdges()[p.dir+" "+pkg+"."+sel] == "" {
					bad = append(bad, fmt.Sprintf("%s: %s.%s: %s", r.at(n), pkg, sel, instead))
				}
				line, _ := lineOf(p.dir)
				pure := line == 1 || line == 2
				if pure && pkg == "math/rand/v2" && !slices.Contains(seeded, sel) {
					bad = append(bad, fmt.Sprintf("%s: rand.%s has no seed: take a *rand.Rand", r.at(n), sel))
				}
			})
		}
	}
	return bad
}

// checkVariables finds package-level variables that are not errors, compiled
// patterns, embedded files or interface assertions.
func checkVariables(r *repository) []string {
	var bad []string
	for _, p := range r.sorted() {
		for _, name := range slices.Sorted(maps.Keys(p.files)) {
			for _, d := range p.files[name].Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				for _, spec := range g.Specs {
					s := spec.(*ast.ValueSpec)
					if !fixedVariable(g, s) {
						bad = append(bad, fmt.Sprintf("%s: the variable %s is neither an error, a compiled pattern, an embed nor an assertion: make it a constant or a function", r.at(s), s.Names[0].Name))
					}
				}
			}
		}
	}
	return bad
}

func fixedVariable(g *ast.GenDecl, s *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{g.Doc, s.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	if s.Names[0].Name == "_" {
		return true
	}
	for _, v := range s.Values {
		if !fixedValue(v) {
			return false
		}
	}
	return len(s.Values) > 0
}

// fixedValue reports whether an expression makes an error or a compiled pattern.
func fixedValue(v ast.Expr) bool {
	if u, ok := v.(*ast.UnaryExpr); ok && u.Op == token.AND {
		v = u.X
	}
	switch v := v.(type) {
	case *ast.CompositeLit:
		return strings.HasSuffix(lastName(v.Type), "Error")
	case *ast.CallExpr:
		switch made := qualified(v.Fun); made {
		case "errors.New", "fmt.Errorf", "regexp.MustCompile":
			return true
		}
	}
	return false
}

func lastName(e ast.Expr) string {
	_, name, ok := strings.Cut(qualified(e), ".")
	if !ok {
		return qualified(e)
	}
	return name
}

func qualified(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return qualified(e.X) + "." + e.Sel.Name
	default:
		return ""
	}
}

// TestRulesFindWhatIsPlanted proves each rule on a small repository with one
// violation, and on the same repository without it.
func TestRulesFindWhatIsPlanted(t *testing.T) {
	const module = `"` + modulePath + `/`
	clean := map[string]string{
		"go.mod":                       "module x\n",
		"protocol/doc.go":              "// Package protocol holds the nouns.\npackage protocol\n\nimport \"errors\"\n\n// ErrNone is none.\nvar ErrNone = errors.New(\"none\")\n",
		"protocol/joblog/joblog.go":    "// Package joblog folds.\npackage joblog\n\nimport \"strings\"\n\n// Fold folds.\nfunc Fold(s string) string { return strings.ToUpper(s) }\n",
		"protocol/arena/arena.go":      "// Package arena keeps promises.\npackage arena\n",
		"store/store.go":               "// Package store keeps rows.\npackage store\n\nimport _ " + module + "protocol\"\n",
		"protocol/client/client.go":    "// Package client calls.\npackage client\n",
		"cmd/arena/main.go":            "// Command arena is all.\npackage main\n\nfunc main() {}\n",
		"cmd/arena/testdata/bad.go":    "package nonsense\n\nimport \"net/http\"\n",
		"protocol/joblog/fold_test.go": "package joblog\n\nimport \"net/http\"\n\nvar x http.Client\n",
	}
	stdlib := map[string][]string{"net/http": {"net"}, "text/heavy": {"example.org/parser"}, "example.org/parser": {"os/exec"}}
	rules := map[string]func(*repository) []string{
		"lines": checkLines, "comments": checkPackageComments, "docs": checkDocs, "names": checkNames, "process": checkProcess, "variables": checkVariables,
		"bans": func(r *repository) []string { return checkBans(r, stdlib) },
	}
	for _, c := range []struct {
		rule, file, text, want string
	}{
		{"lines", "protocol/joblog/up.go", "package joblog\n\nimport _ " + module + "protocol/arena\"\n", "protocol/joblog (line 2) imports protocol/arena (line 3)"},
		{"lines", "protocol/arena/side.go", "package arena\n\nimport _ " + module + "store\"\n", "must not import from store"},
		{"lines", "protocol/arena/side.go", "package arena\n\nimport _ " + module + "store\"\n", "imports only from lower lines"},
		{"lines", "protocol/newroom/doc.go", "// Package newroom is new.\npackage newroom\n", "protocol/newroom: is on no line"},
		{"bans", "protocol/joblog/net.go", "package joblog\n\nimport _ \"net/http\"\n", "protocol/joblog must not reach net/http"},
		{"bans", "protocol/joblog/net.go", "package joblog\n\nimport _ \"net/http\"\n", "protocol/joblog → net/http → net)"},
		{"bans", "protocol/joblog/far.go", "package joblog\n\nimport _ \"text/heavy\"\n", "protocol/joblog must not reach os/exec"},
		{"bans", "protocol/far.go", "package protocol\n\nimport _ \"os\"\n", "protocol must not reach os"},
		{"bans", "protocol/client/far.go", "package client\n\nimport _ " + module + "protocol/arena\"\n", "protocol/client must not reach protocol/arena"},
		{"bans", "store/far.go", "package store\n\nimport _ \"net/http\"\n", "no transaction waits for a network"},
		{"comments", "protocol/score/score.go", "package score\n", "protocol/score: has no package comment"},
		{"comments", "protocol/score/score.go", "// Package score" + strings.Repeat(" goes\n// on and on", 11) + ".\npackage score\n", "belongs into doc.go"},
		{"comments", "protocol/score/score.go", "// This scores.\npackage score\n", "does not begin with"},
		{"comments", "protocol/joblog/z.go", "// Package joblog again.\npackage joblog\n", "second comment"},
		{"docs", "protocol/joblog/z.go", "package joblog\n\nfunc Naked() {}\n", "Naked has no comment"},
		{"docs", "protocol/joblog/z.go", "package joblog\n\n// T is.\ntype T struct{}\n\nfunc (*T) Naked() {}\n", "Naked has no comment"},
		{"docs", "protocol/joblog/z.go", "package joblog\n\nconst Naked = 1\n", "Naked has no comment"},
		{"docs", "protocol/joblog/z.go", "package joblog\n\ntype Naked int\n", "Naked has no comment"},
		{"names", "gates/joblog/z.go", "// Package joblog is twice.\npackage joblog\n", "are both called joblog"},
		{"names", "gates/util/z.go", "// Package util is no name.\npackage util\n", "says nothing"},
		{"process", "protocol/joblog/z.go", "package joblog\n\nimport \"time\"\n\nfunc f() time.Time { return time.Now() }\n", "time.Now"},
		{"process", "store/z.go", "package store\n\nimport clock \"time\"\n\nfunc f() any { return clock.Now }\n", "time.Now"},
		{"process", "store/z.go", "package store\n\nimport \"os\"\n\nfunc f() { os.Exit(1) }\n", "os.Exit"},
		{"process", "protocol/joblog/z.go", "package joblog\n\nimport \"math/rand/v2\"\n\nfunc f() int { return rand.IntN(3) }\n", "no seed"},
		{"variables", "store/z.go", "package store\n\nvar cache = map[string]int{}\n", "the variable cache"},
		{"variables", "store/z.go", "package store\n\nvar count int\n", "the variable count"},
		{"variables", "cmd/arena/z.go", "package main\n\nvar ( a = []int{1} )\n", "the variable a"},
	} {
		files := fstest.MapFS{}
		for name, text := range clean {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if found := planted(t, files, rules[c.rule]); found != "" {
			t.Fatalf("%s: without a violation it finds: %s", c.rule, found)
		}
		files[c.file] = &fstest.MapFile{Data: []byte(c.text)}
		if found := planted(t, files, rules[c.rule]); !strings.Contains(found, c.want) {
			t.Errorf("%s: %s with\n%s\nfinds %q, not %q", c.rule, c.file, c.text, found, c.want)
		}
	}
	for name, text := range map[string]string{
		"errors and patterns": "package store\n\nimport (\"errors\"; \"regexp\"; \"x/protocol\")\n\nvar (\n a = errors.New(\"a\")\n b = regexp.MustCompile(`b`)\n c = &protocol.Error{}\n d = Error{}\n)\n",
		"embeds":              "package store\n\nimport \"embed\"\n\n//go:embed *.sql\nvar files embed.FS\n",
		"assertions":          "package store\n\nvar _ error = (*Error)(nil)\n",
	} {
		files := fstest.MapFS{"store/z.go": {Data: []byte(text)}}
		if found := planted(t, files, checkVariables); found != "" {
			t.Errorf("%s are refused: %s", name, found)
		}
	}
	if found := checkTopLevel(fstest.MapFS{"scripts/x.sh": {}, ".ci/run": {}, "go.mod": {}, "arena": {}, ".gitignore": {Data: []byte("/arena\n")}}); len(found) != 1 || !strings.Contains(found[0], "scripts") {
		t.Errorf("a folder at the top: %q", found)
	}
}

func planted(t *testing.T, files fs.FS, rule func(*repository) []string) string {
	t.Helper()
	r, err := readRepository(files)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(rule(r), "\n")
}
