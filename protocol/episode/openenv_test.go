package episode_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// realClient plays an episode with OpenEnv's own client and says "played".
const realClient = `
import sys
from openenv.core.generic_client import GenericEnvClient
with GenericEnvClient(base_url=sys.argv[1]).sync() as env:
    r = env.reset(task_id="paper-task", seed=1)
    assert r.observation["task_id"] == "paper-task" and not r.done and r.reward is None, r
    r = env.step({"operation": "shell", "command": "solve"})
    assert r.observation["exit_code"] == 1 and r.observation["output"] == "<solve>" and not r.done, r
    s = env.state()
    assert s["step_count"] == 1 and s["episode_id"], s
    try:
        env.step({"operation": "jump"})
        raise SystemExit("a step that is none was taken")
    except RuntimeError as e:
        assert "VALIDATION_ERROR" in str(e) or "Invalid message" in str(e), e
    r = env.step({"operation": "finish"})
    assert r.done and r.reward == 1, r
    assert env.step({"operation": "finish"}).reward == 1
print("played")
`

// OpenEnv's own client and validator talk to the server, where its Python package
// is installed.
func TestRealOpenEnv(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "python3", "-c", "import openenv.core.generic_client").CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Skipf("the Python package openenv (openenv-core) is not installed here: %v: %s", err, lines[len(lines)-1])
	}
	_, s := serve(t)
	if out, err := exec.CommandContext(ctx, "python3", "-c", realClient, s.URL).CombinedOutput(); err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "played") {
		t.Errorf("the client: %v\n%s", err, out)
	}
	if out, err := exec.CommandContext(ctx, "python3", "-m", "openenv.cli", "validate", "--url", s.URL).CombinedOutput(); err != nil {
		t.Errorf("the validator: %v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
}
