// Package jobdir lays out what a job's command finds on disk, for the providers
// that hand a job its files in a directory: the same command runs on this machine
// and in a cluster.
package jobdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// The names below a job's directory.
const (
	// Work is the command's working directory. It holds Config, the task lists that
	// the config names, which name sealed tasks, and Collection.
	Work = "run"
	// Config is the run's pipeline config, in Work.
	Config = "config.toml"
	// Collection holds the collection, in Work, when no code host has it.
	Collection = "collection"
	// Output is where the command leaves its files, in the layout of PROTOCOL §10.
	Output = "output"
	// Secrets holds what the arena made for this run alone, a file for each.
	Secrets = "secrets"
)

// Mount is where a container has the job's directory.
const Mount = "/arena"

// The variables that tell a command about its places.
const (
	// EnvRun is the run's id.
	EnvRun = "ARENA_RUN_ID"
	// EnvOutput is the path of Output.
	EnvOutput = "ARENA_RUN_DIR"
	// EnvConfig is the path of Config.
	EnvConfig = "ARENA_CONFIG"
	// EnvCollection is the path of Collection; unset when a code host has it.
	EnvCollection = "ARENA_COLLECTION"
	// EnvFile ends the names of variables that hold the path of a secret's file. What
	// is before it is the name by which the secret is known, and its file's.
	EnvFile = "_FILE"
)

// Fill writes Work, with everything that the spec holds for the command, and an
// empty Output below a directory that exists and is still the caller's alone.
// Directories have mode 0700 and files 0600, but for executable files of the
// collection. It fails on a path that leads out of the directory and on files that
// cannot be read or written; what it wrote by then stays for the caller to remove.
func Fill(dir string, spec jobs.Spec) error {
	work := filepath.Join(dir, Work)
	for _, d := range []string{work, filepath.Join(dir, Output)} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	files := maps.Clone(spec.Files)
	if files == nil {
		files = map[string][]byte{}
	}
	files[Config] = spec.Config
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("%q is not a path below the job's directory", name)
		}
		path := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o600); err != nil {
			return err
		}
	}
	if spec.Collection == nil {
		return nil
	}
	return copyFiles(filepath.Join(work, Collection), spec.Collection)
}

// WriteSecrets writes the secrets of a job below its directory, in place of those that
// are there. Each file is whole whenever it is read, and no name leads elsewhere.
func WriteSecrets(dir string, secrets map[string]string) (err error) {
	path := filepath.Join(dir, Secrets)
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		const fresh = ".new"
		if err := root.WriteFile(fresh, []byte(secrets[name]), 0o600); err != nil {
			return err
		}
		if err := root.Rename(fresh, name); err != nil {
			return err
		}
	}
	return nil
}

// copyFiles copies the regular files of a tree. Links are left out: what a
// collection links to is nothing to follow on this machine.
func copyFiles(dir string, files fs.FS) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target, err := filepath.Localize(name)
		if err != nil {
			return fmt.Errorf("copy %q: %w", name, err)
		}
		target = filepath.Join(dir, target)
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		return copyFile(target, files, name)
	})
}

// copyFile copies one file, which stays executable if it is.
func copyFile(target string, files fs.FS, name string) error {
	from, err := files.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // nothing was written
	info, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600|info.Mode()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
