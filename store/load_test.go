package store_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/storetest"
)

// BenchmarkWrite measures messages that are posted at the same time by many: each
// is a transaction that is on disk when it returns.
func BenchmarkWrite(b *testing.B) {
	s, err := store.Open(b.Context(), store.Options{Dir: b.TempDir(), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var n atomic.Int64
	b.SetParallelism(100) // times GOMAXPROCS: 200 writers on two cores
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := fmt.Sprintf("message-%08d", n.Add(1))
			if _, _, err := s.PostMessage(b.Context(), ada(), protocol.Message{RequestID: id, Author: "ada", Body: "Hello."}); err != nil {
				b.Error(err)
			}
		}
	})
	waited, total := s.WriteQueue()
	b.ReportMetric(total.Seconds()*1000/float64(max(waited, 1)), "ms-waited/write")
}

// BenchmarkReadyLarge measures what /readyz asks, on a database of a gigabyte of
// content that does not compress. It takes a minute to fill, so it is for -bench
// with its name.
func BenchmarkReadyLarge(b *testing.B) {
	if testing.Short() {
		b.Skip("fills a gigabyte")
	}
	s, err := store.Open(b.Context(), store.Options{Dir: filepath.Join(b.TempDir(), "data"), Now: time.Now, Scratch: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const each = 64 << 20
	for i := range 16 {
		files := []protocol.TreeFile{{Path: "noise", Kind: protocol.FileRegular, Size: each}}
		open := func(string) (io.ReadCloser, error) {
			return io.NopCloser(io.LimitReader(rand.NewChaCha8([32]byte{byte(i)}), each)), nil
		}
		if err := s.SaveBundle(b.Context(), fmt.Sprintf("%040x", i), files, open); err != nil {
			b.Fatal(err)
		}
	}
	size, wal, _, err := s.Disk()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Ready(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size+wal)/1e6, "MB") // after the loop, which forgets what was reported
}

// BenchmarkRuns measures the first page of a list of ten thousand runs, and says
// how large a database with them is.
func BenchmarkRuns(b *testing.B) {
	now := time.Now()
	s, err := store.Open(b.Context(), store.Options{Dir: filepath.Join(b.TempDir(), "data"), Now: func() time.Time { return now }, Scratch: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	col := storetest.Submit(b, s, "ada", "tools")
	var lines []protocol.LogLine
	for i := range 400 {
		lines = append(lines, protocol.LogLine{At: now, Text: fmt.Sprintf("[PASS] task-%03d (tools=%d) after %d tokens of reasoning", i, i%17, i*731)})
	}
	for i := range 10_000 {
		now = now.Add(time.Hour)
		r := storetest.Reservation(col, fmt.Sprintf("request-%05d", i))
		r.Challenge.Compute.RunsPerDay, r.Cap = 100, 1_000_000*protocol.Dollar
		run, _, err := s.Reserve(b.Context(), ada(), r)
		if err == nil {
			_, err = s.JobStarted(b.Context(), arena(), run.ID, protocol.Job{ID: fmt.Sprintf("job-%d", i), Status: "RUNNING", StartedAt: now})
		}
		if err == nil {
			_, err = s.AppendLog(b.Context(), run.ID, protocol.LogBatch{Lines: lines, Position: 400})
		}
		if err == nil {
			_, err = s.Finish(b.Context(), arena(), run.ID, protocol.Ending{Move: protocol.MoveFailed, Reason: "enough", EndedAt: now, Billed: protocol.Dollar})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	size, wal, _, err := s.Disk()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := s.Runs(b.Context(), protocol.RunFilter{}, protocol.Page{Limit: 50}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size+wal)/1e6, "MB")
}
