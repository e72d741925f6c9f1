package task

import (
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// GitTreeID is the id that git gives to a directory with exactly these entries: 40 hex digits, SHA-1 over nested tree
// objects with modes 100644, 100755, 120000 and 160000. Empty directories do not exist for git. The entries may be in
// any order; it fails when a blob id is not 40 hex digits or a path is listed twice.
func GitTreeID(entries []Entry) (string, error) {
	// Sorting whole paths by bytes gives git's order at every level, because git compares a directory's name as if
	// it ended in a slash.
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	id, err := treeID(sorted, 0)
	if err != nil {
		return "", fmt.Errorf("compute git tree id: %w", err)
	}
	return hex.EncodeToString(id), nil
}

// treeID hashes the directory whose entries all share the first skip bytes of their path.
func treeID(entries []Entry, skip int) ([]byte, error) {
	var object []byte
	seen := map[string]bool{}
	for len(entries) > 0 {
		name, _, isDir := strings.Cut(entries[0].Path[skip:], "/")
		if name == "" || seen[name] {
			return nil, fmt.Errorf("%q has an empty component or is listed twice", entries[0].Path)
		}
		seen[name] = true
		if !isDir {
			id, err := hex.DecodeString(entries[0].Blob)
			if err != nil || len(id) != sha1.Size {
				return nil, fmt.Errorf("%q has no git blob id: %q", entries[0].Path, entries[0].Blob)
			}
			object = appendTreeRow(object, entries[0].mode(), name, id)
			entries = entries[1:]
			continue
		}
		n := slices.IndexFunc(entries, func(e Entry) bool { return !strings.HasPrefix(e.Path[skip:], name+"/") })
		if n < 0 {
			n = len(entries)
		}
		id, err := treeID(entries[:n], skip+len(name)+1)
		if err != nil {
			return nil, err
		}
		object = appendTreeRow(object, "40000", name, id)
		entries = entries[n:]
	}
	h := sha1.New()
	fmt.Fprintf(h, "tree %d\x00", len(object))
	h.Write(object)
	return h.Sum(nil), nil
}

func appendTreeRow(object []byte, mode, name string, id []byte) []byte {
	object = append(object, mode+" "+name+"\x00"...)
	return append(object, id...)
}

func (e Entry) mode() string {
	switch {
	case e.Kind == Symlink:
		return "120000"
	case e.Kind == Submodule:
		return "160000"
	case e.Executable:
		return "100755"
	default:
		return "100644"
	}
}

// ContentHash is a task's identity (PROTOCOL §5): "sha256:" and the hex SHA-256 over the entries sorted by path
// bytes, each as path, zero byte, git blob id, line feed. Modes are not part of it.
func ContentHash(entries []Entry) string {
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	h := sha256.New()
	for _, e := range sorted {
		fmt.Fprintf(h, "%s\x00%s\n", e.Path, e.Blob)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
