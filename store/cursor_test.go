package store

import "testing"

// A cursor is what a client sends, so anything may come: it is refused, or it
// is exactly one that was given out.
func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("bWVzc2FnZXMgMSB4")
	f.Add(formatCursor("messages", -1, "a b\x00c"))
	f.Add(formatCursor("runs", 1<<62, ""))
	f.Add("bWVzc2FnZXMgKzEgeA") // messages +1 x
	f.Fuzz(func(t *testing.T, cursor string) {
		at, id, err := parseCursor("messages", cursor)
		if err == nil && formatCursor("messages", at, id) != cursor {
			t.Errorf("%q was read as (%d, %q), whose cursor is %q", cursor, at, id, formatCursor("messages", at, id))
		}
	})
}
