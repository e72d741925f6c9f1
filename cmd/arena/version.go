package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/posttrainarena/arena/protocol/api"
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
	Server bool `xor:"whose" help:"Ask the arena for its own instead."`
	Check  bool `xor:"whose" help:"Compare this binary with the one that the arena serves; 1 when they differ."`
}

// Run prints the fingerprint.
func (cmd *versionCmd) Run(ctx context.Context, env *environ) error {
	switch {
	case cmd.Check:
		return checkVersion(ctx, env)
	case cmd.Server:
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

// versionCheck is what version --check answers. Same is about the very bytes of
// the binary when the arena serves one for this platform, else about version and
// commit.
type versionCheck struct {
	Same         bool        `json:"same"`
	By           string      `json:"by"` // digest, or version and commit
	Client       buildInfo   `json:"client"`
	Server       api.Version `json:"server"`
	ClientDigest string      `json:"client_digest"`
	ServerDigest *string     `json:"server_digest"` // null when the arena serves none for this platform
}

// checkVersion compares this binary with the arena's.
func checkVersion(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	a, err := c.Version(ctx)
	if err != nil {
		return err
	}
	out := versionCheck{By: "digest", Client: build(), Server: a.Value}
	if out.ClientDigest, err = ownDigest(); err != nil {
		return err
	}
	served, err := c.ClientDigest(ctx, out.Client.OS, out.Client.Arch)
	if err != nil {
		return err
	}
	if out.ServerDigest = api.Optional(served); served != "" {
		out.Same = served == out.ClientDigest
	} else {
		out.By, out.Same = "version and commit", out.Client.Version == a.Value.Version && out.Client.Commit == a.Value.Commit
	}
	if err := env.document(out); err != nil {
		return err
	}
	if out.Same {
		env.say("This binary is the arena's own.")
		return nil
	}
	env.say("This binary (%s %s) differs from the arena's (%s %s). Everything may still work; to be sure, take the arena's:", out.Client.Version, out.Client.Commit, a.Value.Version, a.Value.Commit)
	if served == "" {
		env.say("The arena serves none for %s/%s: build it from the project at the arena's commit.", out.Client.OS, out.Client.Arch)
	} else {
		env.say("  curl -fsS -o arena %s/cli/%s/%s && chmod +x arena", c.BaseURL(), out.Client.OS, out.Client.Arch)
	}
	return &verdict{exitError, "the binaries differ"}
}
