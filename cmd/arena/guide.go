package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/posttrainarena/arena/fixture"
)

// guideCmd prints the arena's guide.
type guideCmd struct{}

// Run reads it.
func (*guideCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	text, err := c.Guide(ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(env.Stdout, text); err != nil {
		return fmt.Errorf("write the guide: %w", err)
	}
	return nil
}

// newCmd lays out a collection to begin with: the sample's tasks, which pass
// every gate, under a submission.yaml of its own.
type newCmd struct {
	Dir   string `arg:"" help:"Directory to make; it must not exist or be empty."`
	Team  string `required:"" placeholder:"NAME" help:"The team's name, as it will be published."`
	Email string `required:"" placeholder:"ADDRESS" help:"Where the organizers reach the team; not published."`
	Tasks int    `placeholder:"N" default:"8" help:"How many of the worked examples to lay out, 1 to 8."`
}

func (newCmd) speaksJSON() bool { return true }

// newCollection is what new answers.
type newCollection struct {
	Dir   string   `json:"dir"`
	Tasks []string `json:"tasks"`
}

// Run writes the files.
func (cmd *newCmd) Run(env *environ) error {
	if entries, err := os.ReadDir(cmd.Dir); err == nil && len(entries) > 0 {
		return usagef("%s is not empty; name a directory that does not exist yet", cmd.Dir)
	}
	for flag, value := range map[string]string{"--team": cmd.Team, "--email": cmd.Email} {
		if strings.TrimSpace(value) == "" || strings.ContainsAny(value, "\r\n") {
			return usagef("%s must be one line that is not empty", flag)
		}
	}
	sample, err := fixture.Collection("sample")
	if err != nil {
		return fmt.Errorf("open the worked examples: %w", err)
	}
	tasks, err := fs.ReadDir(sample, "envs")
	if err != nil {
		return fmt.Errorf("list the worked examples: %w", err)
	}
	if cmd.Tasks < 1 || cmd.Tasks > len(tasks) {
		return usagef("--tasks must be 1 to %d", len(tasks))
	}
	out := newCollection{Dir: cmd.Dir}
	for _, t := range tasks[:cmd.Tasks] {
		if err := copyTree(sample, path.Join("envs", t.Name()), cmd.Dir); err != nil {
			return err
		}
		out.Tasks = append(out.Tasks, t.Name())
	}
	submission := fmt.Sprintf("team_name: %s\ncontact_email: %s\ntrack: environments\nlicense: Apache-2.0\norigin: original\n", yamlText(cmd.Team), yamlText(cmd.Email))
	if err := write(filepath.Join(cmd.Dir, "submission.yaml"), []byte(submission)); err != nil {
		return err
	}
	env.say("%s holds %s. Replace them with your own, and put your name into the metadata of each task.md.", cmd.Dir, counted(len(out.Tasks), "worked example"))
	env.say("%s", next("gates", "static", cmd.Dir))
	return env.document(out)
}

// yamlText is a text as a double-quoted YAML scalar.
func yamlText(s string) string { return strconv.QuoteToGraphic(s) }

// copyTree copies a directory of a file system below a directory on disk.
func copyTree(from fs.FS, dir, to string) error {
	err := fs.WalkDir(from, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(name))
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		return os.WriteFile(target, content, mode)
	})
	if err != nil {
		return fmt.Errorf("lay out %s: %w", dir, err)
	}
	return nil
}
