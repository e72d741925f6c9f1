package joblog_test

import (
	"testing"

	"github.com/posttrainarena/arena/protocol/joblog"
)

// BenchmarkFold reads the log of a run in which one line in fifty matters.
func BenchmarkFold(b *testing.B) {
	noise := []string{
		"Prompt 1/1: Merge the two ledgers and write the result to /root/out...",
		"  → end_turn, 12 total tool calls",
		"#12 [4/7] RUN pip install --no-cache-dir -r requirements.txt",
		"INFO 03-01 08:15:00 engine.py:310] Avg prompt throughput: 812.1 tokens/s",
		"Starting environment: sandbox for the next attempt",
		"Running verifier...",
	}
	var log [][]byte
	size := 0
	for i := 0; size < 1<<20; i++ {
		l := noise[i%len(noise)]
		if i%50 == 0 {
			l = "[PASS] label-jars (tools=14)"
		}
		log = append(log, []byte(l))
		size += len(l) + 1
	}
	s, at := joblog.New(expectation(b)), start()
	s.FoldText(at, "[posttrainarena] sync_grpo_endpoint: x")
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, l := range log {
			s.Fold(at, l)
		}
	}
}
