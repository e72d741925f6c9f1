package task

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Format is one of the ways to write a task package.
type Format string

// The formats. The registry takes the first two.
const (
	Native    Format = "benchflow-native" // task.md whose frontmatter has schema_version and task
	PostTrain Format = "posttrain"        // any other task.md
	Harbor    Format = "harbor"           // task.toml and instruction.md
)

// Package is one task with its files. It is read-only; methods may be called from several goroutines.
type Package struct {
	Name        string // the directory's name: the task's identity in the arena
	Dir         string // slash path of the directory in its tree; "." when it is the root
	Format      Format
	Prompt      string // what the agent is asked to do
	PromptPath  string // the file that holds the prompt
	PromptLine  int    // line of PromptPath on which Prompt begins
	Frontmatter Value  // frontmatter of task.md, or the content of task.toml; absent when it could not be read
	Credit      Credit
	OraclePath  string // the reference solution's script, such as "oracle/solve.sh"; empty when there is none
	VerifierDir string // "verifier" or "tests"; empty when there is neither
	Files       []Entry
	FS          fs.FS    // opens the files of Files that are regular
	Unread      []Unread // files that the reader itself could not parse

	maxText int64
}

// Unread is a file that a parser refused.
type Unread struct {
	Path    string
	Line    int
	Message string
}

// Reasons why ReadText does not return a file's text.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrOversize   = errors.New("file is too large to be inspected")
)

// Lookup returns the entry of a path.
func (p *Package) Lookup(name string) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(p.Files, name, func(e Entry, name string) int { return cmp.Compare(e.Path, name) })
	if !ok {
		return Entry{}, false
	}
	return p.Files[i], true
}

// HasDir reports whether any file lies under a directory.
func (p *Package) HasDir(dir string) bool {
	i, _ := slices.BinarySearchFunc(p.Files, dir+"/", func(e Entry, name string) int { return cmp.Compare(e.Path, name) })
	return i < len(p.Files) && strings.HasPrefix(p.Files[i].Path, dir+"/")
}

// ReadText returns the content of a listed regular file. The error wraps fs.ErrNotExist, ErrNotRegular, ErrOversize,
// or what the file system says.
func (p *Package) ReadText(name string) ([]byte, error) {
	e, ok := p.Lookup(name)
	switch {
	case !ok:
		return nil, fmt.Errorf("read %s of task %s: %w", name, p.Name, fs.ErrNotExist)
	case e.Kind != File:
		return nil, fmt.Errorf("read %s of task %s: %w", name, p.Name, ErrNotRegular)
	case e.Size > p.maxText:
		return nil, fmt.Errorf("read %s of task %s: %w", name, p.Name, ErrOversize)
	}
	f, err := p.FS.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read %s of task %s: %w", name, p.Name, err)
	}
	defer f.Close()
	content := make([]byte, 0, e.Size+1)
	content, err = appendAll(content, io.LimitReader(f, p.maxText+1))
	if err != nil {
		return nil, fmt.Errorf("read %s of task %s: %w", name, p.Name, err)
	}
	if int64(len(content)) > p.maxText {
		return nil, fmt.Errorf("read %s of task %s: %w", name, p.Name, ErrOversize)
	}
	return content, nil
}

// appendAll reads r to its end into buf, which is usually large enough already.
func appendAll(buf []byte, r io.Reader) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, 512)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// ContentHash is the task's identity; see the function [ContentHash].
func (p *Package) ContentHash() string { return ContentHash(p.Files) }

// TaskName is the name inside the frontmatter (task.name), with its line; empty when there is none.
func (p *Package) TaskName() (name string, line int) {
	v := p.Frontmatter.Get("task", "name")
	name, _ = v.AsText()
	return name, v.Line
}

// newPackage is the package of a directory whose files are entries, before any of them was opened.
func newPackage(tree Tree, dir, name string, entries []Entry, limits Limits) Package {
	p := Package{Name: name, Dir: dir, FS: tree.Files, maxText: limits.MaxTextBytes}
	if dir != "." {
		// Cannot fail: dir is a prefix of a valid path.
		p.FS, _ = fs.Sub(tree.Files, dir)
	}
	p.Files = make([]Entry, len(entries))
	for i, e := range entries {
		if dir != "." {
			e.Path = e.Path[len(dir)+1:]
		}
		p.Files[i] = e
	}
	p.OraclePath = p.oracle()
	for _, dir := range []string{"verifier", "tests"} {
		if p.HasDir(dir) {
			p.VerifierDir = dir
			break
		}
	}
	return p
}

// oracle finds the reference solution as the pipeline does: an oracle directory wins over a solution directory even
// when it holds no script.
func (p *Package) oracle() string {
	for _, dir := range []string{"oracle", "solution"} {
		if !p.HasDir(dir) {
			continue
		}
		script := path.Join(dir, "solve.sh")
		if e, ok := p.Lookup(script); ok && e.Kind == File {
			return script
		}
		return ""
	}
	return ""
}
