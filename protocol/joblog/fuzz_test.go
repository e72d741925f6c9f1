package joblog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol/joblog"
)

// FuzzFold: no input makes the fold fail, lose its invariants or its memory.
func FuzzFold(f *testing.F) {
	for _, log := range logs(f) {
		f.Add(log, uint16(len(log)/2))
	}
	f.Fuzz(func(t *testing.T, log []byte, at uint16) {
		expect := expectation(t)
		s := joblog.New(expect)
		all := lines(log)
		cut := int(at) % (len(all) + 1)
		fold(s, 0, all[:cut])
		resumed, err := joblog.Load(expect, s.Save())
		if err != nil {
			t.Fatal(err)
		}
		fold(s, cut, all[cut:])
		fold(resumed, cut, all[cut:])
		if d := cmp.Diff(read(s), read(resumed)); d != "" {
			t.Fatalf("resumed after line %d (-straight +resumed):\n%s", cut, d)
		}
		for _, st := range s.Progress().Stages {
			if st.Done < 0 || st.Total > 0 && st.Done > st.Total || st.Passed+st.Failed+st.Errors > st.Done {
				t.Fatalf("impossible counts: %+v", st)
			}
		}
		if n := len(s.Reason()); n > 1000 {
			t.Fatalf("the reason has %d bytes", n)
		}
	})
}

// FuzzLoad: whatever was stored as a saved state, loading it and going on does not
// fail in another way than by saying so.
func FuzzLoad(f *testing.F) {
	for _, log := range logs(f) {
		f.Add(fold(joblog.New(expectation(f)), 0, lines(log)).Save())
	}
	rest := lines(logs(f)["scored"])
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := joblog.Load(expectation(t), data)
		if err != nil {
			return
		}
		fold(s, 0, rest)
		read(s)
		if _, err := joblog.Load(expectation(t), s.Save()); err != nil {
			t.Fatalf("what a loaded state saves cannot be loaded: %v", err)
		}
	})
}
