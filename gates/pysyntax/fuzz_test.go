package pysyntax

import "testing"

// FuzzParse checks, for any bytes, that a parse ends without a panic in a tree
// with sane positions or an error with a position, and that parsing the decoded
// text again gives the same tree.
func FuzzParse(f *testing.F) {
	for _, text := range samples(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		m := checkParse(t, src)
		if m == nil || m.Encoding != "utf-8" {
			return
		}
		again, err := Parse([]byte(m.Text), Options{MaxBytes: 2 << 20})
		if err != nil {
			t.Fatalf("the decoded text is refused: %v", err)
		}
		if dumpTree(m) != dumpTree(again) {
			t.Fatal("the decoded text has another tree")
		}
	})
}
