package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/fixture"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/compose"
	"github.com/posttrainarena/arena/protocol/hub/hfhub"
	"github.com/posttrainarena/arena/protocol/outbound"
)

// readSealedElsewhere adds the suites whose tasks are in private datasets. They are
// read from the hub whenever the arena starts, and into memory only.
func readSealedElsewhere(ctx context.Context, cfg configs.Config, o nodeOptions, sealed map[string]protocol.SealedSuite) error {
	for _, id := range sealedElsewhere(cfg) {
		files, err := openSealedDataset(ctx, cfg, id, o)
		if err == nil {
			sealed[id], err = compose.ReadSealedSuite(id, files)
		}
		if err != nil {
			return fmt.Errorf("the arena does not start without the sealed suite %s: %w", id, err)
		}
	}
	return nil
}

// sealedElsewhere are the suites whose tasks are in private datasets.
func sealedElsewhere(cfg configs.Config) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(cfg.Suites)), func(id string) bool {
		return compose.SuiteSource(cfg, id).From != configs.FromDataset
	})
}

// readSealedHere reads the suites whose tasks are in the program or on this
// machine.
func readSealedHere(cfg configs.Config) (map[string]protocol.SealedSuite, error) {
	sealed := map[string]protocol.SealedSuite{}
	for _, id := range slices.Sorted(maps.Keys(cfg.Suites)) {
		src := compose.SuiteSource(cfg, id)
		var files fs.FS
		switch src.From {
		case configs.FromFixture:
			var err error
			if files, err = fixture.Suite(id); err != nil {
				return nil, fmt.Errorf("suite %s: %w", id, err)
			}
		case configs.FromDirectory:
			files = os.DirFS(src.Path)
		case configs.FromDataset:
			continue
		default:
			return nil, fmt.Errorf("suite %s comes from a %q; use from = %q, %q or %q", id, src.From, configs.FromFixture, configs.FromDirectory, configs.FromDataset)
		}
		suite, err := compose.ReadSealedSuite(id, files)
		if err != nil {
			return nil, err
		}
		sealed[id] = suite
	}
	return sealed, nil
}

// openSealedDataset reads what of a private dataset a suite is made of.
func openSealedDataset(ctx context.Context, cfg configs.Config, id string, o nodeOptions) (fs.FS, error) {
	src := compose.SuiteSource(cfg, id)
	token, err := sealedToken(cfg, id, o)
	if err != nil {
		return nil, err
	}
	base, err := serviceURL(cfg, "identity.hub_url", cfg.Arena.Identity.HubURL)
	if err != nil {
		return nil, err
	}
	transport := outbound.NewTransport(peopleConnections)
	transport.MaxConnsPerHost = peopleConnections
	defer transport.CloseIdleConnections()
	return hfhub.ReadPrivate(ctx, hfhub.Options{URL: base, Transport: transport, UserAgent: userAgent(), Now: o.Now}, hfhub.Private{
		RepoID: src.RepoID, Commit: src.Revision, Path: src.Path, Token: token, First: compose.SuiteFile, Wanted: compose.HoldsPrompt,
	})
}

// sealedToken finds the token that may read a suite's dataset.
func sealedToken(cfg configs.Config, id string, o nodeOptions) (string, error) {
	src := compose.SuiteSource(cfg, id)
	switch {
	case src.TokenEnv != "" && src.TokenFile == "":
		return secretFrom(cfg, "suites."+id+".token_env", src.TokenEnv, o)
	case src.TokenFile != "" && src.TokenEnv == "":
		token, err := secretFile(src.TokenFile)
		if err != nil {
			return "", fmt.Errorf("suites.%s.token_file: %w", id, err)
		}
		return token, nil
	default:
		return "", misconfigured(cfg, "suites."+id, "a private dataset needs token_env or token_file, one of both")
	}
}

// maxSecret bounds a file that holds a token, in bytes.
const maxSecret = 4096

// secretFile reads a token from a file that is not open to everybody.
func secretFile(name string) (token string, err error) {
	if token, err = privateFile(name); err == nil && !isToken(token) {
		return "", fmt.Errorf("%s holds something else than one token", name)
	}
	return token, err
}

// privateFile reads a small file that is not open to everybody, without the white
// space around its text.
func privateFile(name string) (text string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("the secret cannot be read: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", fmt.Errorf("the secret cannot be read: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no file", name)
	case info.Mode().Perm()&0o027 != 0:
		return "", fmt.Errorf("%s is open to others than the arena's user (mode %04o); chmod 600 it", name, info.Mode().Perm())
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("the secret cannot be read: %w", err)
	}
	if len(raw) > maxSecret {
		return "", fmt.Errorf("%s holds something else than a secret", name)
	}
	return strings.TrimSpace(string(raw)), nil
}

// tokenPlace is where the token for a suite's dataset is looked for, for people.
func tokenPlace(src configs.SealedSource) string {
	if src.TokenFile != "" {
		return "the file " + src.TokenFile
	}
	return "the environment variable " + src.TokenEnv
}
