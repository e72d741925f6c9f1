package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
)

// buildInfo says which arena this binary is.
type buildInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"` // the module's, or devel
	Commit  string `json:"commit"`  // with -dirty when files had changed; empty when not known
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// build reads what the linker recorded.
func build() buildInfo {
	b := buildInfo{Name: "arena", Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if b.Commit != "" {
		b.Commit += dirty
	}
	return b
}

// versionCmd prints the build fingerprint of this binary, or of the arena.
type versionCmd struct {
	remote
	Server bool `help:"Ask the arena for its own instead."`
}

// Run prints the fingerprint.
func (cmd *versionCmd) Run(ctx context.Context, env *environ) error {
	if cmd.Server {
		c, err := env.reader()
		if err != nil {
			return err
		}
		a, err := c.Version(ctx)
		if err != nil {
			return err
		}
		return env.answer(a.Raw)
	}
	raw, err := json.Marshal(build())
	if err != nil {
		return fmt.Errorf("encode the version: %w", err)
	}
	return env.answer(raw)
}
