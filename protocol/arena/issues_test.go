package arena_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/arena"
	"github.com/posttrainarena/arena/protocol/joblog"
)

// providerSays is what a cluster says of a job that it could not run to its end,
// for the known issues that no log can show.
func providerSays() map[string]string {
	return map[string]string{
		"container-memory": "OOMKilled: the command used more memory than its container may have (exit code 137)",
		"image-pull":       `DeadlineExceeded: the job never ran, because its pod waited for too long (ImagePullBackOff: Back-off pulling image "registry.example.org/pipeline:1")`,
		"no-hardware":      "DeadlineExceeded: the job never ran, because its pod waited for too long (Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.)",
		"pod-disrupted":    "Evicted: The node was low on resource: ephemeral-storage.",
		"container-setup":  `DeadlineExceeded: the job never ran, because its pod waited for too long (CreateContainerConfigError: secret "hub" not found)`,
	}
}

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
		if said, ok := providerSays()[issue.ID]; ok {
			// The job never came to print anything; the provider's words are the reason.
			i := slices.IndexFunc(known, func(k joblog.KnownIssue) bool { return k.Stage == "" && k.Pattern.MatchString(said) })
			if i < 0 || known[i].Sentence != issue.Sentence {
				t.Errorf("%s: %q is not explained by it", issue.ID, said)
			}
			fmt.Fprintf(&explained, "%s: said by the provider\n  %s\n  %s\n  %s\n\n", issue.ID, said, issue.Sentence, issue.Advice)
			continue
		}
		if err != nil {
			t.Errorf("the known issue %s has no log: %v", issue.ID, err)
			continue
		}
		fold := joblog.New(expect)
		for line := range strings.Lines(string(text)) {
			fold.FoldText(time.Time{}, strings.TrimSuffix(line, "\n"))
		}
		got, ok := fold.Issue()
		if !ok || got.Sentence != issue.Sentence || string(got.Class) != issue.Class || got.Advice != issue.Advice {
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
