package arena_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/arena"
	"github.com/posttrainarena/arena/protocol/joblog"
)

// TestEveryKnownIssueExplainsItsLog folds one log for each entry of the shipped
// catalogue of known issues, testdata/issues/ID.log. Each must be explained by
// its own entry, not by one that happens to come before it. What participants
// read about it is in explained.txt, which ARENA_UPDATE=1 writes anew.
func TestEveryKnownIssueExplainsItsLog(t *testing.T) {
	cfg := must(configs.Default())(t)
	known := must(arena.Configure(cfg))(t).Issues
	sealed, own := []string{"sealed-a", "sealed-b", "sealed-c", "sealed-d"}, []string{"train-a", "train-b", "train-c", "train-d"}
	expect := joblog.Expect{Known: known, Tasks: map[protocol.Stage][]string{
		protocol.StageBaseline: sealed, protocol.StageGate: own, protocol.StageTraining: own, protocol.StageHeldout: sealed,
	}}
	var explained strings.Builder
	logs := map[string]bool{}
	for _, issue := range cfg.KnownIssues {
		file := filepath.Join("testdata", "issues", issue.ID+".log")
		logs[file] = true
		text, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("the known issue %s has no log: %v", issue.ID, err)
			continue
		}
		fold := joblog.New(expect)
		for line := range strings.Lines(string(text)) {
			fold.FoldText(time.Time{}, strings.TrimSuffix(line, "\n"))
		}
		got, ok := fold.Issue()
		if !ok || got.Sentence != issue.Sentence || string(got.Class) != issue.Class || fold.Advice() != issue.Advice {
			t.Errorf("%s: the reason %q is explained by %q (%s)", issue.ID, fold.Reason(), got.Sentence, got.Class)
		}
		fmt.Fprintf(&explained, "%s: %s in %s\n  %s\n  %s\n  %s\n\n", issue.ID, fold.Fault(), fold.Stage(), fold.Reason(), got.Sentence, got.Advice)
	}
	files := must(filepath.Glob(filepath.Join("testdata", "issues", "*.log")))(t)
	for _, file := range files {
		if !logs[file] {
			t.Errorf("%s belongs to no known issue", file)
		}
	}
	golden := filepath.Join("testdata", "issues", "explained.txt")
	if os.Getenv("ARENA_UPDATE") != "" {
		must0(t, os.WriteFile(golden, []byte(explained.String()), 0o644))
	}
	if diff := cmp.Diff(string(must(os.ReadFile(golden))(t)), explained.String()); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", golden, diff)
	}
}
