//go:build !unix

package controls

import "os"

// lock does nothing where there are no file locks of this kind.
func lock(*os.Root) (func(), error) { return func() {}, nil }
