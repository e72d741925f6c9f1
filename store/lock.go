package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrLocked says that another process owns the data directory. The error that
// wraps it names the process.
var ErrLocked = errors.New("the data directory is in use")

// lockName is the file whose lock decides who owns a data directory. It is
// never removed: removing it would let two processes lock two files.
const lockName = "arena.lock"

// takeLock makes this process the owner of a data directory and writes who it
// is into the lock file. Closing the file gives the directory back; so does the
// end of the process, however it ends.
func takeLock(dir string, now time.Time) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock file: %w", err)
	}
	got, err := tryLock(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
	}
	if !got {
		defer f.Close()
		return nil, fmt.Errorf("%w: %s is held by %s; stop that process, or use another data directory", ErrLocked, dir, holder(f))
	}
	who := fmt.Sprintf("pid %d\nsince %s\n", os.Getpid(), now.UTC().Format(time.RFC3339))
	if err := errors.Join(f.Truncate(0), writeAt(f, who)); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", f.Name(), err), f.Close())
	}
	return f, nil
}

// giveBack ends the ownership of a data directory.
func giveBack(lock *os.File) error { return errors.Join(unlock(lock), lock.Close()) }

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// holder reads who holds a lock file, in words.
func holder(f *os.File) string {
	b, err := io.ReadAll(io.LimitReader(f, 200))
	words := strings.Join(strings.Fields(string(b)), " ")
	if err != nil || words == "" {
		return "another process that did not say who it is"
	}
	return strings.Replace(words, " since", ", running since", 1)
}

// Owner says which process owns a data directory, in words; empty when none
// does.
func Owner(dir string) (string, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at the lock file: %w", err)
	}
	got, err := tryLock(f)
	if got {
		return "", errors.Join(err, giveBack(f)) // it was only tried
	}
	defer f.Close()
	if err != nil {
		return "", err
	}
	return holder(f), nil
}
