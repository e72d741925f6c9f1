//go:build unix

package controls

import (
	"fmt"
	"os"
	"syscall"
)

// lock keeps a second run off the same jobs directory: it would remove the first one's containers. The lock goes with
// the process.
func lock(jobs *os.Root) (func(), error) {
	f, err := jobs.OpenFile(".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the jobs directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("another run works on %s; wait for it, or use another directory: %w", jobs.Name(), err)
	}
	return func() { _ = f.Close() }, nil
}
