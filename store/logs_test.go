package store_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/storetest"
)

func TestLogLinesAreNumberedAndKeptAsTheyAre(t *testing.T) {
	ctx := context.Background()
	s, clock, run := started(t)
	texts := []string{"plain", "", "two\nlines", "\xff\xfe not UTF-8", "\x1b[31mred\x1b[0m\r50%", strings.Repeat("x", 1<<20)}
	var lines, want []protocol.LogLine
	for i, text := range texts {
		at := clock.Now().Add(time.Duration(i) * time.Millisecond)
		lines = append(lines, protocol.LogLine{N: 77, At: at, Text: text})
		want = append(want, protocol.LogLine{N: int64(i + 1), At: at, Text: text})
	}
	run = must(s.AppendLog(ctx, run.ID, protocol.LogBatch{Lines: lines, Position: 6, Fold: []byte("state")}))(t)
	if run.LogLines != 6 {
		t.Errorf("%d lines", run.LogLines)
	}
	if diff := cmp.Diff(want, must(s.Log(ctx, run.ID, 0, 0))(t)); diff != "" {
		t.Errorf("log (-want +got):\n%.2000s", diff)
	}
	if diff := cmp.Diff(protocol.LogCursor{Position: 6, Fold: []byte("state")}, must(s.LogCursor(ctx, run.ID))(t)); diff != "" {
		t.Errorf("cursor (-want +got):\n%s", diff)
	}
	over := must(s.AppendLog(ctx, run.ID, protocol.LogBatch{Lines: []protocol.LogLine{{Text: strings.Repeat("y", 1<<20+1)}}, Position: 7}))(t)
	if got := must(s.Log(ctx, run.ID, over.LogLines-1, 1))(t); len(got) != 1 || len(got[0].Text) != 1<<20 {
		t.Errorf("an overlong line was not cut at 1 MiB: %d lines", len(got))
	}
	_, err := s.Log(ctx, "challenge-000000000000", 0, 1)
	wantError(t, err, protocol.ErrNoRun)
	_, err = s.LogCursor(ctx, "challenge-000000000000")
	wantError(t, err, protocol.ErrNoRun)
}

func TestABatchThatWasStoredBeforeIsDropped(t *testing.T) {
	ctx := context.Background()
	s, _, run := started(t)
	batch := protocol.LogBatch{Lines: []protocol.LogLine{{Text: "one"}, {Text: "two"}}, Position: 20, Fold: []byte("f"), Stage: protocol.StageSetup, Status: "RUNNING"}
	first := must(s.AppendLog(ctx, run.ID, batch))(t)
	nothing(t, s, func() {
		for _, position := range []int64{20, 19, 0, -1} {
			again := batch
			again.Position, again.Stage, again.Fold = position, protocol.StageGate, []byte("other")
			if diff := cmp.Diff(first, must(s.AppendLog(ctx, run.ID, again))(t)); diff != "" {
				t.Errorf("position %d (-first +again):\n%s", position, diff)
			}
		}
	})
	if c := must(s.LogCursor(ctx, run.ID))(t); c.Position != 20 || string(c.Fold) != "f" {
		t.Errorf("cursor %+v", c)
	}
	moved := must(s.AppendLog(ctx, run.ID, protocol.LogBatch{Position: 20, Status: "COMPLETED"}))(t)
	if moved.JobStatus != "COMPLETED" || moved.LogLines != 2 || moved.Stage != protocol.StageSetup {
		t.Errorf("a new status without lines: %+v", moved)
	}
}

func TestLinesAloneAreNoEvent(t *testing.T) {
	ctx := context.Background()
	s, clock, run := started(t)
	batch := func(position int64, stage protocol.Stage) protocol.LogBatch {
		return protocol.LogBatch{Lines: []protocol.LogLine{{At: clock.Now(), Text: "x"}}, Position: position, Stage: stage}
	}
	must(s.AppendLog(ctx, run.ID, batch(1, protocol.StageSetup)))(t)
	nothing(t, s, func() { must(s.AppendLog(ctx, run.ID, batch(2, protocol.StageSetup)))(t) })
	must(s.AppendLog(ctx, run.ID, batch(3, protocol.StageSnapshot)))(t)
	if e := newest(t, s, 1)[0]; e.Kind != protocol.EventRunStage || e.Stage != string(protocol.StageSnapshot) {
		t.Errorf("event %+v", e)
	}
	queued := must(s.Run(ctx, run.ID))(t)
	if queued.State != protocol.RunRunning {
		t.Errorf("state %s", queued.State)
	}
}

// However a log is cut into batches, any window of it reads the same.
func TestAnyWindowOfALogReadsAsItWasWritten(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	c := storetest.Submit(t, s, "ada", "tools")
	logs := 0
	rapid.Check(t, func(rt *rapid.T) {
		logs++
		clock.Advance(25 * time.Hour)
		run, _, err := s.Reserve(ctx, ada(), storetest.Reservation(c, fmt.Sprintf("launch-%04d", logs)))
		if err != nil {
			rt.Fatal(err)
		}
		var all []protocol.LogLine
		for position := range rapid.Int64Range(0, 6).Draw(rt, "batches") {
			var lines []protocol.LogLine
			for range rapid.IntRange(0, 12).Draw(rt, "lines") {
				// Lengths around a chunk's size, so that batches end inside, at and across chunks.
				size := rapid.SampledFrom([]int{0, 1, 80, 5000, 64 << 10}).Draw(rt, "size")
				line := protocol.LogLine{At: clock.Now(), Text: strings.Repeat("z", size)}
				lines = append(lines, line)
				line.N = int64(len(all) + 1)
				all = append(all, line)
			}
			if _, err := s.AppendLog(ctx, run.ID, protocol.LogBatch{Lines: lines, Position: position + 1}); err != nil {
				rt.Fatal(err)
			}
		}
		for range 5 {
			after := rapid.Int64Range(-1, int64(len(all)+1)).Draw(rt, "after")
			limit := rapid.IntRange(1, 60).Draw(rt, "limit")
			want := all[min(max(after, 0), int64(len(all))):]
			want = want[:min(limit, len(want))]
			got, err := s.Log(ctx, run.ID, after, limit)
			if err != nil || len(got) != len(want) || len(want) > 0 && !cmp.Equal(want, got) {
				rt.Fatalf("after %d limit %d: %d lines, want %d (%v)", after, limit, len(got), len(want), err)
			}
		}
		if _, err := s.Finish(ctx, arena(), run.ID, protocol.Ending{Move: protocol.MoveFailed}); err != nil {
			rt.Fatal(err)
		}
	})
}

// bigLog opens a store with a run whose log has n lines of 100 bytes.
func bigLog(b *testing.B, n int) (*store.Store, string) {
	b.Helper()
	ctx := context.Background()
	s, clock := storetest.Open(b)
	run, _, err := s.Reserve(ctx, ada(), storetest.Reservation(storetest.Submit(b, s, "ada", "tools"), "launch-001"))
	if err != nil {
		b.Fatal(err)
	}
	for at := 0; at < n; {
		var lines []protocol.LogLine
		for range min(5000, n-at) {
			at++
			lines = append(lines, protocol.LogLine{At: clock.Now(), Text: fmt.Sprintf("%-100s", fmt.Sprintf("[PASS] task-%08d (tools=%d) and some more words to fill the line as logs do", at, at%17))})
		}
		if _, err := s.AppendLog(ctx, run.ID, protocol.LogBatch{Lines: lines, Position: int64(at)}); err != nil {
			b.Fatal(err)
		}
	}
	return s, run.ID
}

// The last screen of a log costs the same whether the log is short or long. With
// ARENA_BENCH_FULL set the longest has ten million lines, which is 1 GB; it is
// not the default because writing it takes minutes.
func BenchmarkLastScreen(b *testing.B) {
	sizes := []int{1_000, 10_000, 100_000, 1_000_000}
	if os.Getenv("ARENA_BENCH_FULL") != "" {
		sizes = append(sizes, 10_000_000)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("lines=%d", n), func(b *testing.B) {
			s, run := bigLog(b, n)
			for b.Loop() {
				lines, err := s.Log(context.Background(), run, int64(n-50), 50)
				if err != nil || len(lines) != 50 {
					b.Fatalf("%d lines, %v", len(lines), err)
				}
			}
		})
	}
}

// A batch of 20 lines costs the same at the start and at the end of a log.
func BenchmarkAppendLog(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("after=%d", n), func(b *testing.B) {
			s, run := bigLog(b, n)
			lines := make([]protocol.LogLine, 20)
			for i := range lines {
				lines[i].Text = "[PASS] task-0000001 (tools=4) and some more words to fill the line as logs do"
			}
			for at := int64(n); b.Loop(); {
				at++
				if _, err := s.AppendLog(context.Background(), run, protocol.LogBatch{Lines: lines, Position: at}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
