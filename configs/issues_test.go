package configs_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/posttrainarena/arena/configs"
)

// explain returns the first known issue that matches, as the log fold chooses it.
func explain(issues []configs.KnownIssue, stage, text string) configs.KnownIssue {
	for _, k := range issues {
		if (len(k.Stages) == 0 || slices.Contains(k.Stages, stage)) && regexp.MustCompile(k.Pattern).MatchString(text) {
			return k
		}
	}
	return configs.KnownIssue{}
}

// TestKnownIssues names for every entry a reason or note as it is really
// printed, cut off where the harness cuts notes, with the entry that has to
// explain it.
func TestKnownIssues(t *testing.T) {
	cfg, err := configs.Default()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ stage, text, id, class string }{
		{"training", "RuntimeError: GRPO produced zero within-group reward variance; increase runtime.num_generations or improve reward shaping", "zero-variance", "collection"},
		{"training", "RuntimeError: OpenCode GRPO rollout failed for log-forensics-004 after 2 attempts", "rollout-exhausted", "limit"},
		{"setup", "ValueError: Training and eval task IDs must be disjoint; overlap: sealed-03", "train-eval-overlap", "collection"},
		{"snapshot", "RuntimeError: Training and eval task content digests overlap", "train-eval-overlap", "collection"},

		{"training", "JobTimeLimitError: the trainer was ended 900 s before the job's limit of 28800 s, so that what it left can be uploaded", "job-time-limit", "limit"},

		{"setup", "VLLM_FAILED", "vllm-failed", "platform"},
		{"setup", "VLLM_FAILED: JobError: the model server does not answer", "vllm-failed", "platform"},
		{"heldout", "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue", "vllm", "platform"},
		{"training", "RuntimeError: vLLM server failed to load the new weights", "vllm", "platform"},
		{"training", "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2094, unhandled system error", "nccl", "platform"},
		{"training", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.90 GiB", "cuda", "platform"},
		{"baseline", "LiteLLM proxy failed to start for model…", "litellm-proxy", "platform"},
		{"gate", "suspected provider api error…", "model-endpoint", "platform"},
		{"gate", "provider api error [503]", "model-endpoint", "platform"},
		{"gate", "Token usage tracking is required, but no…", "usage-tracking", "platform"},
		{"baseline", "RuntimeError: OpenCode evaluation telemetry coverage is incomplete", "usage-tracking", "platform"},

		{"gate", "ACP initialize timed out after 120s before the…", "acp-initialize", "platform"},
		{"gate", "ACP error -32603: Internal error", "acp-error", "platform"},
		{"baseline", "Agent opencode install failed (rc=100)", "agent-install", "platform"},
		{"baseline", "daytona_sdk.common.errors.DaytonaError: Failed to…", "daytona", "platform"},
		{"baseline", "DaytonaError: no runners available", "daytona", "platform"},
		{"baseline", "Sandbox startup failed: Docker compose command…", "sandbox-startup", "platform"},
		{"gate", "Docker compose command failed for environment x", "sandbox-startup", "platform"},
		{"gate", "Unexpected: KeyError('usage')", "harness-crash", "platform"},
		{"gate", "Setup failed before trial directory existed", "harness-crash", "platform"},

		{"snapshot", "RuntimeError: bench tasks snapshot-hf failed with exit code 1", "snapshot", "platform"},
		{"baseline", "HTTP 402: insufficient credit", "out-of-credit", "platform"},
		{"baseline", "openai.APIStatusError: status code: 402", "out-of-credit", "platform"},
		{"baseline", "requests.exceptions.HTTPError: 402 Client Error: Payment Required for url", "out-of-credit", "platform"},
		{"snapshot", "huggingface_hub.errors.HfHubHTTPError: 503 Server Error: Service Unavailable", "server-error", "platform"},
		{"heldout", "httpx.HTTPStatusError: 502 Bad Gateway", "server-error", "platform"},
		{"snapshot", "HfHubHTTPError: 429 Too Many Requests", "rate-limited", "platform"},

		{"training", "The job ended as ERROR: OOMKilled: the command used more memory than its container may have (exit code 137)", "container-memory", "platform"},
		{"setup", "The job ended as ERROR: DeadlineExceeded: the job never ran, because its pod waited for too long (ImagePullBackOff: Back-off pulling image \"x\")", "image-pull", "platform"},
		{"setup", "The job ended as ERROR: DeadlineExceeded: the job never ran, because its pod waited for too long (Unschedulable: 0/3 nodes are available)", "no-hardware", "platform"},
		{"gate", "The job ended as ERROR: Evicted: The node was low on resource: ephemeral-storage.", "pod-disrupted", "platform"},
		{"setup", "The job ended as ERROR: StartError: exec: \"train\": executable file not found in $PATH (exit code 128)", "container-setup", "platform"},

		{"training", "Agent prompt exceeded wall-clock budget 900s", "agent-time-limit", "limit"},
		{"gate", "Agent idle for 300s with no new tool call,…", "agent-idle", "limit"},
		{"gate", "verifier timed out after 180s", "verifier-timeout", "collection"},
		{"gate", "verifier crashed: no reward file", "verifier-crashed", "collection"},
		{"training", "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='hub.example.org', port=443): Max retries exceeded", "network", "platform"},
		{"training", "httpx.ReadTimeout: The read operation timed out", "network", "platform"},
		{"training", "OSError: [Errno 28] No space left on device", "machine", "platform"},
		{"training", "RuntimeError: DataLoader worker (pid 311) is killed by signal: Killed.", "machine", "platform"},
		{"gate", "verifier crashed: ConnectionRefusedError", "verifier-crashed", "collection"},
		// The same with the organizers' own tasks is nothing that a collection did.
		{"baseline", "verifier crashed: no reward file", "sealed-attempts", "platform"},
		{"heldout", "Agent idle for 300s with no new tool call,…", "sealed-attempts", "platform"},
	}
	covered := map[string]bool{}
	for _, tt := range tests {
		got := explain(cfg.KnownIssues, tt.stage, tt.text)
		if got.ID != tt.id || got.Class != tt.class {
			t.Errorf("%s: %q is explained by %q as %q, want %q as %q", tt.stage, tt.text, got.ID, got.Class, tt.id, tt.class)
		}
		covered[got.ID] = true
	}
	for _, k := range cfg.KnownIssues {
		if !covered[k.ID] {
			t.Errorf("no example shows that %q explains anything", k.ID)
		}
	}
}

// TestUnknownFailuresStayUnexplained: what merely looks like a known failure must
// not excuse a run or blame a collection.
func TestUnknownFailuresStayUnexplained(t *testing.T) {
	cfg, err := configs.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"",
		"RuntimeError: OpenCode evaluation contains agent or verifier errors (5 > 4 tolerated)", // the notes decide
		"AssertionError: 402 rows expected, 5xx found",
		"ValueError: loss is nan at step 2",
		"KeyError: 'VLLM_FAILED_COUNT'",
		"RuntimeError: wrote 500 lines to http.log",
	} {
		if got := explain(cfg.KnownIssues, "training", text); got.ID != "" {
			t.Errorf("%q is explained by %q", text, got.ID)
		}
	}
}
