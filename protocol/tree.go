package protocol

import "time"

// FileKind is what a tree entry is.
type FileKind string

// The kinds of tree entries. Links and submodules are listed, never followed.
const (
	FileRegular    FileKind = "file"
	FileExecutable FileKind = "executable"
	FileSymlink    FileKind = "symlink"
	FileSubmodule  FileKind = "submodule"
)

// TreeFile is one entry of a stored tree of files: a bundle's content or a
// run's artifacts.
type TreeFile struct {
	Path string // slash-separated, relative, clean
	Kind FileKind
	Size int64  // bytes
	Blob string // git blob id: 40 hex digits of SHA-1 over "blob SIZE NUL content"
}

// LogLine is one line of a run's log as the arena numbers it.
type LogLine struct {
	N    int64     `json:"n"` // counted from 1, without gaps
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}
