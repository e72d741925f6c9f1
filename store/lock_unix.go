//go:build unix && !aix && !illumos && !solaris

package store

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes an exclusive lock on an open file, which ends with the process
// whatever happens to it. It reports false when another holder has it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// unlock gives a lock back, also when a process that was started a moment ago
// still holds a copy of the descriptor: closing alone would leave it the lock
// until it has become another program.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
