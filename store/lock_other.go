//go:build !unix || aix || illumos || solaris

package store

import (
	"errors"
	"os"
)

// tryLock refuses: without a lock that ends with its process, two arenas could
// own one database.
func tryLock(*os.File) (bool, error) {
	return false, errors.New("this operating system has no advisory file locks that the arena knows; serve from Linux, macOS or a BSD")
}

// unlock has nothing to give back.
func unlock(*os.File) error { return nil }
