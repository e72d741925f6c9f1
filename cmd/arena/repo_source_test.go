package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
)

const modulePath = "github.com/posttrainarena/arena"

// repository is the source of the module, read file by file: a test that asked
// the go command instead would be answered from the test cache, which does not
// know what a subprocess reads.
type repository struct {
	fset     *token.FileSet
	packages map[string]*sourcePackage // by folder, "." for the root
}

// sourcePackage is the files of one folder.
type sourcePackage struct {
	dir   string
	name  string
	files map[string]*ast.File // without tests, by file name
}

// readRepository parses every Go file that the go command would build.
func readRepository(files fs.FS) (*repository, error) {
	r := &repository{fset: token.NewFileSet(), packages: map[string]*sourcePackage{}}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name != "." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		return r.parse(files, name)
	})
	return r, err
}

func (r *repository) parse(files fs.FS, name string) error {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(r.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	p := r.packages[dir]
	if p == nil {
		p = &sourcePackage{dir: dir, name: f.Name.Name, files: map[string]*ast.File{}}
		r.packages[dir] = p
	}
	if p.name != f.Name.Name {
		return fmt.Errorf("%s: package %s in a folder of package %s", name, f.Name.Name, p.name)
	}
	p.files[path.Base(name)] = f
	return nil
}

// at is the place of a node, for messages.
func (r *repository) at(n ast.Node) string {
	p := r.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// sorted returns the packages in order.
func (r *repository) sorted() []*sourcePackage {
	var all []*sourcePackage
	for _, dir := range slices.Sorted(maps.Keys(r.packages)) {
		all = append(all, r.packages[dir])
	}
	return all
}

// imports lists what a package imports, own packages as folders and others by
// path, each with a place where.
func (r *repository) imports(p *sourcePackage) (own, others map[string]string) {
	own, others = map[string]string{}, map[string]string{}
	for _, f := range p.files {
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the parser has checked it
			}
			if dir, ok := strings.CutPrefix(name, modulePath); ok {
				own[path.Join(".", strings.TrimPrefix(dir, "/"))] = r.at(spec)
			} else {
				others[name] = r.at(spec)
			}
		}
	}
	return own, others
}

// reach maps everything that a package reaches to the import that leads there.
// Other modules are entered when their imports are known.
func (r *repository) reach(p *sourcePackage, outside map[string][]string) map[string]string {
	found := map[string]string{}
	var visit func(name, via string)
	visit = func(name, via string) {
		if _, seen := found[name]; seen {
			return
		}
		found[name] = via
		if q := r.packages[name]; q != nil {
			own, others := r.imports(q)
			for _, n := range slices.Sorted(maps.Keys(own)) {
				visit(n, via+" → "+n)
			}
			for _, n := range slices.Sorted(maps.Keys(others)) {
				visit(n, via+" → "+n)
			}
			return
		}
		for _, n := range outside[name] {
			visit(n, via+" → "+n)
		}
	}
	visit(p.dir, p.dir)
	delete(found, p.dir)
	return found
}

// outsideImports asks the go command what the packages of other modules import.
// Those do not change while tests are edited, so the cache is no trap here.
func outsideImports(dir string, packages []string) (map[string][]string, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Imports"}, packages...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, fmt.Errorf("go list: %s", e.Stderr)
		}
		return nil, err
	}
	all := map[string][]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p.Imports
	}
}

// selectors calls do for every use of a name of an imported package, such as
// time.Now, with the import path and the name.
func selectors(f *ast.File, do func(n ast.Node, pkg, name string)) {
	names := map[string]string{}
	for _, spec := range f.Imports {
		full, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		local := path.Base(full)
		if full == "math/rand/v2" {
			local = "rand"
		}
		if spec.Name != nil {
			local = spec.Name.Name
		}
		names[local] = full
	}
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := s.X.(*ast.Ident); ok && names[id.Name] != "" {
			do(s, names[id.Name], s.Sel.Name)
		}
		return true
	})
}
