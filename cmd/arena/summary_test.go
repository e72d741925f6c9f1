package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/artifacts"
	"github.com/posttrainarena/arena/protocol/client"
)

func ptr[T any](v T) *T { return &v }

// TestRunsHideNothing checks that every member of a run which explains where it
// stands or why it stopped is part of what runs --run-id says (R14).
func TestRunsHideNothing(t *testing.T) {
	at := time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)
	full := api.Run{
		RunID: "challenge-abc", RequestKey: "the-request-key", ChallengeID: "tb2-9b", EnvironmentID: "env-0123",
		State: protocol.RunRunning, Stage: ptr(protocol.StageTraining), Reason: ptr("the-reason"), PlatformFault: false,
		Fault: ptr(protocol.FaultLimit), Status: "the-status", JobStatus: ptr("the-job-status"), JobID: ptr("the-job-id"), JobURL: ptr("https://jobs.example.org/1"),
		Stalled: true, StalledBecause: ptr("the-cause"), NextCheckAt: ptr(at.Add(3 * time.Minute)), LastLineAt: ptr(at.Add(4 * time.Minute)),
		LastLines: []string{"the-last-line"}, Forecast: &artifacts.Forecast{Group: 8, Tried: 5, Attempts: 20, Useful: 0.25},
		Since: at, BlockedBy: ptr("the-blocker"), CancelRequested: ptr(at.Add(time.Minute)), CancelAcknowledged: ptr(at.Add(90 * time.Second)), UnreachableSince: ptr(at.Add(2 * time.Minute)),
		Relay:    &api.Relay{State: protocol.RelayConnected, Requests: 9, Succeeded: 5, Rejected: 1, Failed: 2, Aborted: 1},
		Provider: "the-provider", MaxComputeUSD: 160 * protocol.Dollar, SettledUSD: ptr(42 * protocol.Dollar),
		Stages: []protocol.StageProgress{{Stage: protocol.StageGate, Total: 32, Done: 30, Passed: 11, Failed: 12, Errors: 7, Timeouts: 5, StartedAt: &at}},
	}
	shown := map[string]string{
		"RunID": "challenge-abc", "RequestKey": "the-request-key", "ChallengeID": "tb2-9b", "EnvironmentID": "env-0123",
		"State": "running", "Stage": "training", "Reason": "the-reason", "Fault": "limit", "Status": "the-status", "JobStatus": "the-job-status",
		"JobID": "the-job-id", "JobURL": "https://jobs.example.org/1", "Since": "10:00:00", "BlockedBy": "the-blocker", "CancelRequested": "10:01:00", "CancelAcknowledged": "10:01:30",
		"UnreachableSince": "10:02:00", "Provider": "the-provider", "MaxComputeUSD": "$160.00", "SettledUSD": "$42.00",
		"Stages": "30 of 32 done: 11 passed, 12 failed, 7 errors, 5 timeouts", "PlatformFault": "", "Simulated": "", "Training": "",
		"Stalled": "STALLED", "StalledBecause": "the-cause", "NextCheckAt": "10:03:00", "LastLineAt": "10:04:00", "LastLines": "the-last-line",
		"Relay": "connected: 9 calls, 0 under way, 5 answered, 1 refused, 2 failed, 1 broken off", "Forecast": "25% of groups of 8 rollouts", "StallsAt": "",
	}
	// What does not explain a run's fate, and where it is to be seen.
	elsewhere := map[string]bool{
		"EnvironmentRevision": true, "Author": true, "LaunchedBy": true, "AgentID": true, "Flavor": true, "TimeoutSeconds": true,
		"RecipeID": true, "TrainTaskCount": true, "ExcludedTaskCount": true, "EvalTaskCount": true, "CreatedAt": true, "StartedAt": true,
		"EndedAt": true, "LogLines": true, "Image": true, "Result": true, "Existing": true,
	}
	text := strings.Join(runLines(full), "\n")
	for f := range reflect.TypeFor[api.Run]().Fields() {
		want, ok := shown[f.Name]
		if !ok && !elsewhere[f.Name] {
			t.Errorf("%s is neither shown nor said to be elsewhere", f.Name)
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: %q is not in\n%s", f.Name, want, text)
		}
	}
	full.PlatformFault, full.Simulated, full.Training = true, true, make([]protocol.TrainingStep, 2)
	full.Stalled, full.StallsAt = false, ptr(at.Add(5*time.Minute))
	for _, want := range []string{"the arena's side", "simulated", "2 steps", "not before 2026-08-01 10:05:00"} {
		if text := strings.Join(runLines(full), "\n"); !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestSummaries(t *testing.T) {
	at := time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)
	yes, no := true, false
	result := api.Result{
		RunID: "challenge-1", ChallengeID: "tb2-9b", Score: protocol.Score{
			BaselinePassRate: 0.09375, AfterPassRate: 0.125, DeltaPP: 3.125, StderrPP: 7.7959, NTasks: 32, Trials: 1,
			Errors: protocol.SideCounts{Baseline: 1}, Timeouts: protocol.SideCounts{Baseline: 2, Posttrain: 3},
		},
		GRPORan: true, GRPOEffectiveUpdate: true, Verification: protocol.Pending,
	}
	reviewed := result
	reviewed.Verification, reviewed.ReviewedBy, reviewed.VerificationNote = protocol.Rejected, ptr("grace"), "Two tasks were measured twice."
	reviewed.GRPOEffectiveUpdate, reviewed.Existing, reviewed.Simulated = false, true, true
	gates := report.Report{
		Problems: []report.Finding{{Code: "no-verifier", Severity: report.Error, Task: "sort-logs", Path: "verifier/test.sh", Message: "the verifier is missing", Fix: "write verifier/test.sh"}},
		Findings: []report.Finding{
			{Code: "remote-add", Severity: report.Review, Task: "sort-logs", Path: "environment/Dockerfile", Line: 4, Message: "ADD fetches a file", Fix: "copy the file into the collection"},
			{Code: "oracle-in-image", Severity: report.Reject, Task: "sort-logs", Path: "environment/Dockerfile", Line: 9, Message: "COPY brings oracle/ into the image", Fix: "copy only what the task needs"},
		},
		Summary: report.Summary{Tasks: 2, Rejected: 1, Eligible: 1, Clean: 1},
	}
	many := gates
	many.Problems, many.Findings = nil, make([]report.Finding, 43)
	for i := range many.Findings {
		many.Findings[i] = report.Finding{Code: "unparsed", Severity: report.Review, Task: fmt.Sprintf("task-%02d", i), Message: "the parser stops"}
	}
	limits := protocol.LaunchLimits{
		RunsPerDay: protocol.CountLimit{Limit: 1, Remaining: 1}, ActiveRuns: protocol.CountLimit{Limit: 1, Remaining: 1},
		PerHour: protocol.HourLimits{Validations: &protocol.CountLimit{Used: 2, Limit: 120, Remaining: 118, ResetsAt: &at}, Messages: &protocol.CountLimit{Limit: 60, Remaining: 60}},
		Compute: protocol.MoneyLimit{Used: 160 * protocol.Dollar, Limit: 800 * protocol.Dollar, Remaining: 640 * protocol.Dollar},
	}
	bound := limits
	bound.RunsPerDay, bound.Binding, bound.ResetsAt = protocol.CountLimit{Used: 1, Limit: 1, ResetsAt: &at}, ptr("daily_limit"), &at
	for name, lines := range map[string][]string{
		"whoami":          whoamiLines(api.Whoami{Name: "Ada", Orgs: []string{"crane", "heron"}, Editor: true, Agents: []api.Agent{{AgentID: "ada-agent"}}, PerHour: limits.PerHour}, "https://arena.example.org"),
		"whoami-new":      whoamiLines(api.Whoami{Name: "Ada"}, "http://127.0.0.1:7860"),
		"validation":      validationLines(api.Validation{Valid: true, TaskCount: 2, EligibleTasks: 1, Revision: "abc", Warnings: []string{"license: 2 tasks leave it out"}, QualityGates: api.QualityGates{Static: report.Report{Findings: gates.Findings, Summary: gates.Summary}}}),
		"validation-not":  validationLines(api.Validation{TaskCount: 2, Revision: "abc", Errors: []string{"sort-logs: the verifier is missing"}, QualityGates: api.QualityGates{Static: gates}}),
		"validation-none": validationLines(api.Validation{Valid: true, TaskCount: 1, Revision: "abc"}),
		"validation-many": validationLines(api.Validation{Valid: true, TaskCount: 43, EligibleTasks: 43, Revision: "abc", QualityGates: api.QualityGates{Static: many}}),
		"environment":     environmentLines(api.Environment{ID: "env-1", TargetChallengeID: ptr("tb2-9b"), PerHour: &limits.PerHour}, "environment.json.pinned.json"),
		"environment-old": environmentLines(api.Environment{ID: "env-1", Existing: true}, "pack.pinned.json"),
		"preflight": preflightLines(api.Preflight{Allowed: true, ChallengeID: "tb2-9b", EnvironmentID: "env-1", MaxComputeUSD: ptr(160 * protocol.Dollar), EligibleTasks: 1, Limits: limits, Forecast: &artifacts.Forecast{Group: 8, Tried: 5, Attempts: 20, Useful: 0.25}, Checks: []protocol.Check{
			{Name: "challenge_open", OK: &yes, Detail: "tb2-9b is open and takes runs"},
		}}, "my run.json", ""),
		"preflight-not": preflightLines(api.Preflight{ChallengeID: "tb2-9b", EnvironmentID: "env-1", ResetsAt: &at, Limits: bound, Checks: []protocol.Check{
			{Name: "challenge_open", OK: &yes, Detail: "tb2-9b is open and takes runs"},
			{Name: "author_or_editor", Detail: "not checked: nobody is signed in"},
			{Name: "daily_limit", OK: &no, Detail: "one counted run in the last 24 hours"},
		}}, "", ""),
		"launch": launchLines(api.Run{RunID: "challenge-1", RequestKey: "request-1", ChallengeID: "tb2-9b", State: protocol.RunQueued, MaxComputeUSD: 160 * protocol.Dollar, TimeoutSeconds: 28800, Flavor: "a100x8", Existing: true, Simulated: true}),
		"run": runLines(api.Run{
			RunID: "challenge-1", RequestKey: "request-1", ChallengeID: "tb2-9b", EnvironmentID: "env-1", State: protocol.RunRunning, Since: at,
			Stage: ptr(protocol.StageGate), Status: "RUNNING", JobStatus: ptr("RUNNING"), JobID: ptr("job-1"), Provider: "simulated", BlockedBy: ptr("the job"),
			MaxComputeUSD: 160 * protocol.Dollar, Simulated: true, Stages: []protocol.StageProgress{
				{Stage: protocol.StageSetup, StartedAt: &at, EndedAt: ptr(at.Add(90 * time.Second))},
				{Stage: protocol.StageBaseline, StartedAt: ptr(at.Add(2 * time.Minute)), EndedAt: ptr(at.Add(time.Hour)), Total: 32, Done: 32, Passed: 3, Failed: 29, Timeouts: 4},
				{Stage: protocol.StageGate, StartedAt: ptr(at.Add(time.Hour)), Total: 8, Done: 3, Passed: 1, Failed: 1, Errors: 1},
			},
		}),
		"run-failed": runLines(api.Run{
			RunID: "challenge-1", RequestKey: "request-1", ChallengeID: "tb2-9b", EnvironmentID: "env-1", State: protocol.RunFailed, Since: at,
			Reason: ptr("vLLM did not start: NCCL error"), PlatformFault: true, Fault: ptr(protocol.FaultPlatform), Status: "ERROR", SettledUSD: ptr(protocol.Micros(3_500_000)), MaxComputeUSD: 160 * protocol.Dollar,
		}),
		"run-scored":   runLines(api.Run{RunID: "challenge-1", RequestKey: "request-1", ChallengeID: "tb2-9b", EnvironmentID: "env-1", State: protocol.RunScored, Since: at, Status: "COMPLETED", Result: &result}),
		"result":       resultLines(result),
		"result-known": resultLines(reviewed),
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "summary/"+name+".txt", strings.Join(lines, "\n")+"\n")
		})
	}
}

// TestLaunchAdvice says what to do after each way in which a launch can fail.
func TestLaunchAdvice(t *testing.T) {
	answered := func(e *protocol.Error) error { return &client.AnswerError{Problem: e} }
	notAsked := protocol.ErrProviderAway.Launch(protocol.LaunchedNo)
	notAsked.RetrySame = true
	for _, c := range []struct {
		name string
		err  error
		want []string
		not  string
	}{
		{"refused", answered(protocol.ErrNotAuthor.Launch(protocol.LaunchedNo)), []string{"Nothing was launched."}, "again"},
		{"refused without saying so", answered(protocol.ErrNoEligible), []string{"Nothing was launched."}, "again"},
		{"daily limit", answered(protocol.ErrDailyLimit.After(90 * time.Minute)), []string{"Nothing was launched.", "asked again in 1h30m0s"}, ""},
		{"busy", answered(protocol.ErrJobActive), []string{"Nothing was launched.", "arena runs --challenge tb2-9b"}, ""},
		{"cap", answered(protocol.ErrCap), []string{"Nothing was launched.", "arena budget"}, ""},
		{"paused", answered(protocol.ErrPaused), []string{"Nothing was launched.", "arena challenges tb2-9b"}, ""},
		{"provider refused", answered(protocol.ErrRefused.Launch(protocol.LaunchedNo)), []string{"Nothing was launched."}, "may have started"},
		{"not asked yet", answered(notAsked), []string{"No job was started yet", "Run the exact same command", "Never change the request_id"}, "may have started"},
		{"unknown", answered(protocol.ErrUnknownLaunch.Launch(protocol.LaunchedUnknown)), []string{"Run the exact same command", "Never change the request_id"}, "Nothing was launched"},
		{"unknown four times", &client.PersistentError{Tries: 4, Err: answered(protocol.ErrUnknownLaunch.Launch(protocol.LaunchedUnknown))}, []string{"Do not retry", "request-1"}, "again"},
		{"started", answered(protocol.ErrInternal.Launch(protocol.LaunchedYes)), []string{"Do not launch again", "request-1"}, "Nothing was launched"},
		{"a bug", answered(protocol.ErrInternal), []string{"request_key request-1", "exact same command"}, "Nothing was launched"},
		{"the network", client.ErrNetwork, []string{"request_key request-1", "exact same command"}, "Nothing was launched"},
		{"a proxy", client.ErrProxy, []string{"request_key request-1", "exact same command"}, "Nothing was launched"},
		{"something of this machine", errors.New("disk"), nil, "launch"},
	} {
		text := strings.Join(launchAdvice(c.err, "tb2-9b", "request-1"), "\n")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, text)
			}
		}
		if c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: says %q in\n%s", c.name, c.not, text)
		}
	}
}

// TestNotesCannotTakeTheTerminalOver checks that other people's text reaches a
// terminal without its control characters, and a pipe as it is.
func TestNotesCannotTakeTheTerminalOver(t *testing.T) {
	text := "\x1b]0;title\x07\x1b[2Jevil\rgood\u202etxt"
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(">>> GET /api/challenges/c/runs/r/log 200\n{\"lines\":[{\"n\":1,\"text\":%s}],\"next_after\":0,\"ended\":true}\n", raw)
	for _, terminal := range []bool{true, false} {
		env, _, stdout, _ := testEnviron(t, newFakeArena(t, script).URL, nil)
		env.StdoutTTY = terminal
		if code := run(t.Context(), []string{"log", "r", "--challenge", "c"}, env); code != 0 {
			t.Fatalf("exit %d", code)
		}
		if clean := !strings.ContainsAny(stdout.String(), "\x1b\x07\r\u202e"); clean != terminal {
			t.Errorf("terminal %v: %q", terminal, stdout)
		}
	}
	who := fmt.Sprintf(">>> GET /api/whoami 200\n{\"name\":%s,\"agents\":[]}", raw)
	if got := invoke(t, newFakeArena(t, who).URL, "whoami"); strings.ContainsAny(got.stderr, "\x1b\x07\r\u202e") {
		t.Errorf("%q", got.stderr)
	}
}
