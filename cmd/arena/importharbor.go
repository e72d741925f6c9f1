package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/posttrainarena/arena/gates/task"
)

type importCmd struct {
	Harbor importHarborCmd `cmd:"" help:"Write Harbor packages as PostTrain or BenchFlow-native ones."`
}

// importHarborCmd rewrites the Harbor packages of a directory, without a server.
type importHarborCmd struct {
	Dir string `arg:"" help:"A Harbor package, or a directory of them."`
	Out string `required:"" placeholder:"DIR" help:"Where to write: envs/NAME for every package; must be empty or not there."`
	To  string `enum:"native,posttrain" default:"native" help:"native or posttrain."`
}

// importReport is what the verb prints: per task what was added and lost, and what still keeps it from validating.
type importReport struct {
	Out     string         `json:"out"`
	Tasks   []importedTask `json:"tasks"`
	Skipped []string       `json:"skipped"` // packages that are not Harbor's
}

type importedTask struct {
	task.Imported
	Problems []string `json:"problems"`
}

// Run writes the packages and prints the report. It ends with 1 when nothing could be imported.
func (cmd *importHarborCmd) Run(env *environ) error {
	root, err := os.OpenRoot(cmd.Dir)
	if err != nil {
		return usagef("read the directory: %w", err)
	}
	defer root.Close()
	tree, err := readAnySize(root)
	if err != nil {
		return err
	}
	if abs, err := filepath.Abs(cmd.Dir); err == nil {
		tree.Name = filepath.Base(abs)
	}
	col, _ := task.ReadPackages(tree, "", task.DefaultLimits())
	if left, err := os.ReadDir(cmd.Out); err == nil && len(left) > 0 {
		return usagef("--out %s: the directory is not empty; name another one", cmd.Out)
	}
	to := task.Native
	if cmd.To == "posttrain" {
		to = task.PostTrain
	}
	r := importReport{Out: cmd.Out, Tasks: []importedTask{}, Skipped: []string{}}
	for _, p := range col.Packages {
		if p.Format != task.Harbor {
			r.Skipped = append(r.Skipped, p.Name)
			continue
		}
		im, err := task.ImportHarbor(p, to)
		if err != nil {
			return err
		}
		if err := cmd.write(p, im); err != nil {
			return fmt.Errorf("write task %s: %w", p.Name, err)
		}
		r.Tasks = append(r.Tasks, importedTask{Imported: im, Problems: []string{}})
	}
	if len(r.Tasks) == 0 {
		return &verdict{exitError, "there is no Harbor package (task.toml and instruction.md) in " + cmd.Dir}
	}
	if err := cmd.check(&r); err != nil {
		return err
	}
	enc := json.NewEncoder(env.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// readAnySize lists a directory that may hold more tasks than one collection.
func readAnySize(root *os.Root) (task.Tree, error) {
	limits := task.DefaultLimits()
	limits.MaxFiles, limits.MaxTotalBytes = 10_000_000, 1<<40
	return task.ReadTree(root.FS(), limits)
}

// write writes one package below --out/envs. The package's own paths were checked when its tree was read.
func (cmd *importHarborCmd) write(p task.Package, im task.Imported) error {
	dir := filepath.Join(cmd.Out, "envs", im.Name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range im.Files {
		if err := root.MkdirAll(path.Dir(f.Path), 0o777); err != nil {
			return err
		}
		if err := writeImported(root, p, f); err != nil {
			return err
		}
	}
	return nil
}

func writeImported(root *os.Root, p task.Package, f task.ImportedFile) error {
	if f.Content != nil {
		return root.WriteFile(f.Path, f.Content, 0o666)
	}
	mode := os.FileMode(0o666)
	if f.Executable {
		mode = 0o777
	}
	from, err := p.FS.Open(f.From)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}

// check reads what was written and notes what a validation would still refuse.
func (cmd *importHarborCmd) check(r *importReport) error {
	root, err := os.OpenRoot(cmd.Out)
	if err != nil {
		return err
	}
	defer root.Close()
	tree, err := readAnySize(root)
	if err != nil {
		return err
	}
	_, problems := task.ReadPackages(tree, "envs", task.DefaultLimits())
	for _, p := range problems {
		for i := range r.Tasks {
			if r.Tasks[i].Name == p.Task {
				r.Tasks[i].Problems = append(r.Tasks[i].Problems, p.Path+": "+p.Finding().Message)
			}
		}
	}
	return nil
}
