package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

// environmentsCmd groups what there is to read about collections.
type environmentsCmd struct {
	List environmentsListCmd `cmd:"" help:"List the registered collections, newest first."`
	Get  environmentsGetCmd  `cmd:"" help:"Show one registered collection."`
}

type environmentsListCmd struct {
	remote
	Challenge string    `placeholder:"CHALLENGE" help:"Only collections submitted to this challenge."`
	Track     string    `placeholder:"TRACK" help:"Only collections stored on this track."`
	Author    string    `placeholder:"NAME" help:"Only collections of this account."`
	Page      pageFlags `embed:""`
}

// Run lists a page of collections.
func (cmd *environmentsListCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	f := protocol.CollectionFilter{Challenge: cmd.Challenge, Track: cmd.Track, Author: cmd.Author}
	a, err := c.ListEnvironments(ctx, f, cmd.Page.page())
	return list(env, a, err)
}

type environmentsGetCmd struct {
	remote
	ID string `arg:"" name:"env" help:"The collection's id, env-…."`
}

// Run reads one collection.
func (cmd *environmentsGetCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	a, err := c.GetEnvironment(ctx, cmd.ID)
	return show(env, a, err)
}

// sourceFlags name the collection of validate and submit: a file with the
// request, a directory to upload, or both.
type sourceFlags struct {
	File      string `placeholder:"FILE" help:"JSON with challenge_id, repo_type, repo_id, revision, …; - is standard input."`
	Dir       string `placeholder:"DIR" help:"Upload this directory as a bundle. Without --file it needs --challenge."`
	Challenge string `placeholder:"CHALLENGE" help:"The challenge or track, instead of the file's."`
	RepoID    string `name:"repo-id" placeholder:"NAME" help:"The bundle's name, instead of the file's or the directory's."`
	Title     string `placeholder:"TEXT" help:"The title, instead of the file's."`
	Notes     string `placeholder:"TEXT" help:"The notes, instead of the file's."`
	Agent     string `placeholder:"AGENT" help:"The agent that acts, instead of the file's."`
}

// source is a collection as the flags name it.
type source struct {
	req    api.EnvironmentRequest
	bundle *client.Bundle // nil when the collection lives elsewhere
	flags  sourceFlags
	close  func() error
}

// read reads the request, and the listing of the directory.
func (f sourceFlags) read(env *environ) (source, error) {
	s := source{flags: f, close: func() error { return nil }}
	if f.File == "" && f.Dir == "" {
		return s, usagef("name the collection with --file environment.json, or a directory with --dir DIR --challenge CHALLENGE")
	}
	if f.File != "" {
		if err := env.decode(f.File, &s.req); err != nil {
			return s, err
		}
	}
	override(&s.req.ChallengeID, f.Challenge)
	override(&s.req.RepoID, f.RepoID)
	override(&s.req.Title, f.Title)
	override(&s.req.Notes, f.Notes)
	if f.Agent != "" {
		s.req.AgentID = &f.Agent
	}
	if f.Dir != "" {
		if err := s.open(); err != nil {
			return s, err
		}
		env.say("%s: %s, %d KiB, git tree %s", f.Dir, counted(s.bundle.Files(), "file"), (s.bundle.Bytes()+1023)>>10, s.bundle.TreeID())
	}
	if s.req.ChallengeID == "" {
		return s, usagef("name the challenge with --challenge, or as challenge_id in the file")
	}
	return s, nil
}

func override(field *string, flag string) {
	if flag != "" {
		*field = flag
	}
}

// open reads the directory's listing and completes the request for it.
func (s *source) open() error {
	switch s.req.RepoType {
	case "":
		s.req.RepoType = protocol.RepoBundle
	case protocol.RepoBundle:
	default:
		return usagef("--dir uploads a bundle, but %s says repo_type %s: leave one of them out", s.flags.File, s.req.RepoType)
	}
	if s.req.RepoID == "" {
		dir, err := filepath.Abs(s.flags.Dir)
		if err != nil {
			return usagef("open the directory: %w", err)
		}
		s.req.RepoID = bundleName(filepath.Base(dir))
	}
	root, err := os.OpenRoot(s.flags.Dir)
	if err != nil {
		return usagef("open the directory: %w", err)
	}
	if s.bundle, err = client.NewBundle(root.FS(), s.req.EntryPath); err != nil {
		_ = root.Close()
		return usagef("%s cannot be uploaded: %w", s.flags.Dir, err)
	}
	s.close = root.Close
	return nil
}

// bundleName turns a directory's name into a name that a bundle may have.
func bundleName(dir string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, dir)
	name = strings.TrimLeft(name, "._-")
	if name == "" {
		return "collection"
	}
	return name[:min(len(name), 96)]
}

// pinned is where submit keeps the request with its commit: beside the file, or
// named after the bundle.
func (s *source) pinned() string {
	const ending = ".pinned.json"
	switch file := s.flags.File; {
	case file == "-" || file == "":
		return filepath.Base(filepath.FromSlash(s.req.RepoID)) + ending
	case strings.HasSuffix(file, ending):
		return file
	default:
		return file + ending
	}
}

// validateCmd checks a collection.
type validateCmd struct {
	remote
	Source sourceFlags `embed:""`
}

// Run validates.
func (cmd *validateCmd) Run(ctx context.Context, env *environ) error {
	s, err := cmd.Source.read(env)
	if err != nil {
		return err
	}
	defer s.close()
	c, err := env.signed()
	if err != nil {
		return err
	}
	a, err := c.Validate(ctx, s.req, s.bundle)
	if err != nil {
		return err
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	env.tell(validationLines(a.Value))
	if !a.Value.Valid {
		return &verdict{exitError, "the collection is not valid"}
	}
	env.say("%s", next(append([]string{"submit"}, cmd.Source.words()...)...))
	return nil
}

// words are the flags as they were given, for the next command.
func (f sourceFlags) words() []string {
	var words []string
	for _, flag := range [][2]string{
		{"--file", f.File},
		{"--dir", f.Dir},
		{"--challenge", f.Challenge},
		{"--repo-id", f.RepoID},
		{"--title", f.Title},
		{"--notes", f.Notes},
		{"--agent", f.Agent},
	} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return words
}

// submitCmd registers a collection.
type submitCmd struct {
	remote
	Source sourceFlags `embed:""`
}

// Run validates, pins the request to the commit that was read, and registers it.
func (cmd *submitCmd) Run(ctx context.Context, env *environ) error {
	s, err := cmd.Source.read(env)
	if err != nil {
		return err
	}
	defer s.close()
	c, err := env.signed()
	if err != nil {
		return err
	}
	v, err := c.Validate(ctx, s.req, s.bundle)
	if err != nil {
		return err
	}
	if !v.Value.Valid {
		if err := env.answer(v.Raw); err != nil {
			return err
		}
		env.tell(validationLines(v.Value))
		return &verdict{exitError, "the collection is not valid; nothing was registered"}
	}
	s.req.Revision = v.Value.Revision
	if err := s.pin(); err != nil {
		return err
	}
	a, err := c.Submit(ctx, s.req, s.bundle)
	if err != nil {
		return uncertain(err, "Whether it was registered is not known. Repeat it at the same commit: "+s.again())
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	env.tell(validationLines(v.Value))
	env.tell(environmentLines(a.Value, s.pinned()))
	return nil
}

// pin writes the request with its commit, before anything is registered: it is
// how an uncertain submission is repeated without following a moving branch.
func (s *source) pin() error {
	raw, err := json.MarshalIndent(s.req, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the pinned request: %w", err)
	}
	return write(s.pinned(), append(raw, '\n'))
}

// again is the command that repeats a submission at its commit.
func (s *source) again() string {
	words := []string{"submit", "--file", s.pinned()}
	if s.flags.Dir != "" {
		words = append(words, "--dir", s.flags.Dir)
	}
	return strings.TrimPrefix(next(words...), "Next: ")
}
