package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/artifacts"
	"github.com/posttrainarena/arena/protocol/client"
)

// preflightLines says what each check found, and the command that starts the run
// when all hold.
func preflightLines(p api.Preflight, file, requestID string) []string {
	word := "not allowed"
	if p.Allowed {
		word = "allowed"
	}
	lines := []string{fmt.Sprintf("Preflight of %s on %s: %s", p.EnvironmentID, p.ChallengeID, word)}
	width := 0
	for _, c := range p.Checks {
		width = max(width, len(c.Name))
	}
	for _, c := range p.Checks {
		mark := "skip"
		if c.OK != nil && *c.OK {
			mark = "ok"
		} else if c.OK != nil {
			mark = "FAIL"
		}
		lines = append(lines, fmt.Sprintf("  %-4s  %-*s  %s", mark, width, c.Name, c.Detail))
	}
	if p.MaxComputeUSD != nil {
		lines = append(lines, fmt.Sprintf("The run would reserve $%s and train on %s.", *p.MaxComputeUSD, counted(p.EligibleTasks, "eligible task")))
	}
	lines = append(lines, limitLines(p.Limits)...)
	if p.Forecast != nil {
		lines = append(lines, "Forecast: "+forecastText(*p.Forecast)+".")
	}
	if p.ResetsAt != nil {
		lines = append(lines, "The daily limit frees a run at "+stamp(*p.ResetsAt)+".")
	}
	if !p.Allowed {
		return lines
	}
	command := []string{"run", "--challenge", p.ChallengeID, "--id", p.EnvironmentID}
	switch {
	case file != "":
		command = append(command, "--file", file)
	case requestID != "":
		command = append(command, "--request-id", requestID)
	default:
		lines = append(lines, `Write run.json with a request id that you keep, such as {"request_id":"NAME-run-001"}.`)
		command = append(command, "--file", "run.json")
	}
	return append(lines, next(append(command, "--execute")...))
}

// launchLines says which run a launch made.
func launchLines(r api.Run) []string {
	var lines []string
	if r.Existing {
		lines = append(lines, fmt.Sprintf("The request_id %s was used before; this is its run. No second one was started.", r.RequestKey))
	}
	lines = append(lines, fmt.Sprintf("Run %s is %s. It reserves $%s for at most %s on %s.",
		r.RunID, r.State, r.MaxComputeUSD, time.Duration(r.TimeoutSeconds)*time.Second, r.Flavor))
	if r.Simulated {
		lines = append(lines, "The run is simulated: its numbers are invented.")
	}
	return append(lines, next("runs", "--challenge", r.ChallengeID, "--run-id", r.RunID, "--wait"))
}

// launchAdvice turns what a failed launch says about its outcome into what to
// do (seed 003, "If the launch fails").
func launchAdvice(err error, challenge, requestID string) []string {
	same := "Never change the request_id to get past an error."
	if _, ok := errors.AsType[*client.PersistentError](err); ok {
		return []string{"Do not retry further. Give an organizer the request_id " + requestID + "."}
	}
	e, ok := errors.AsType[*protocol.Error](err)
	switch {
	case !ok:
		return nil
	case e.Launched == protocol.LaunchedYes:
		return []string{
			"A job was started. Do not launch again.",
			next("runs", "--challenge", challenge) + "   (its request_key is " + requestID + ")",
		}
	case e.Launched == protocol.LaunchedNo && e.RetrySame:
		return []string{"No job was started yet. Run the exact same command with the same file again: it goes on where it stopped. " + same}
	case e.Launched == protocol.LaunchedUnknown || e.RetrySame:
		return []string{"The job may have started. Run the exact same command with the same file again: it finds the job or starts it, never twice. " + same}
	case e.Launched == protocol.LaunchedNo || e.Kind.Status() < 500:
		return append([]string{"Nothing was launched."}, refusalAdvice(e, challenge)...)
	default:
		return []string{
			fmt.Sprintf("Whether the run started is not known. Look for the request_key %s in: arena runs --challenge %s", requestID, argument(challenge)),
			"If no run has it, run the exact same command with the same file again. " + same,
		}
	}
}

// refusalAdvice is what to do about a definite refusal.
func refusalAdvice(e *protocol.Error, challenge string) []string {
	switch {
	case e.RetryAfter > 0:
		return []string{fmt.Sprintf("It may be asked again in %s.", e.RetryAfter.Round(time.Second))}
	case errors.Is(e, protocol.ErrJobActive):
		return []string{next("runs", "--challenge", challenge) + "   (shows what is active)"}
	case errors.Is(e, protocol.ErrCap):
		return []string{next("budget")}
	case errors.Is(e, protocol.ErrPaused), errors.Is(e, protocol.ErrClosed):
		return []string{next("challenges", challenge)}
	default:
		return nil
	}
}

// runLines shows a run: where it is, everything that explains why, and what
// comes next. Nothing of the run that explains a failure may be missing here
// (reference/rivals.md R14).
func runLines(r api.Run) []string {
	lines := []string{fmt.Sprintf("Run %s of %s on %s", r.RunID, r.EnvironmentID, r.ChallengeID)}
	field := func(name, value string) {
		if value != "" {
			lines = append(lines, fmt.Sprintf("  %-12s %s", name, value))
		}
	}
	field("state", fmt.Sprintf("%s since %s", r.State, stamp(r.Since)))
	if r.Stage != nil {
		field("stage", string(*r.Stage))
	}
	field("reason", deref(r.Reason))
	field("fault", faultText(r))
	field("waits for", deref(r.BlockedBy))
	if r.Stalled {
		field("STALLED", deref(r.StalledBecause))
	} else {
		field("stalled", timeText("not before ", r.StallsAt))
	}
	field("next look", timeText("at the latest at ", r.NextCheckAt))
	field("last line", timeText("arrived at ", r.LastLineAt))
	field("job", jobText(r))
	field("cancel", cancelText(r))
	field("unreachable", timeText("the provider has not answered since ", r.UnreachableSince))
	if r.Relay != nil {
		field("relay", relayText(*r.Relay))
	}
	field("request", r.RequestKey)
	field("cost", costText(r))
	for _, s := range r.Stages {
		lines = append(lines, stageText(s))
	}
	if n := len(r.Training); n > 0 {
		field("trained", counted(n, "step"))
	}
	if r.Forecast != nil {
		field("forecast", forecastText(*r.Forecast))
	}
	if n := len(r.LastLines); n > 0 {
		lines = append(lines, fmt.Sprintf("The end of its log (%s of %d):", counted(min(n, shownLines), "line"), r.LogLines))
		for _, l := range r.LastLines[max(0, n-shownLines):] {
			lines = append(lines, "  | "+l)
		}
	}
	if r.Simulated {
		lines = append(lines, "The run is simulated: its numbers are invented.")
	}
	return append(lines, afterRun(r)...)
}

// relayText says whether the job's model can be reached, and how calls went.
func relayText(r api.Relay) string {
	since := timeText("; connected since ", r.ConnectedSince)
	if r.LostAt != nil {
		since = timeText("; not connected since ", r.LostAt)
	}
	return fmt.Sprintf("%s: %s, %d under way, %d answered, %d refused, %d failed, %d broken off%s",
		r.State, counted(int(r.Requests), "call"), r.InFlight, r.Succeeded, r.Rejected, r.Failed, r.Aborted, since)
}

// shownLines is how much of a failed run's log is shown to people; the JSON has
// more.
const shownLines = 20

// forecastText says how much training can be expected to learn.
func forecastText(f artifacts.Forecast) string {
	return fmt.Sprintf("%.0f%% of groups of %d rollouts can be expected to teach something, from %s at %s",
		100*f.Useful, f.Group, counted(f.Attempts, "attempt"), counted(f.Tried, "task"))
}

// limitLines says how much of what bounds launches is used.
func limitLines(l protocol.LaunchLimits) []string {
	lines := []string{
		fmt.Sprintf("  runs a day   %d of %d used%s", l.RunsPerDay.Used, l.RunsPerDay.Limit, resetText(l.RunsPerDay.ResetsAt)),
		fmt.Sprintf("  active runs  %d of %d used", l.ActiveRuns.Used, l.ActiveRuns.Limit),
		fmt.Sprintf("  compute      $%s of $%s committed, $%s left", l.Compute.Used, l.Compute.Limit, l.Compute.Remaining),
	}
	lines = append(lines, hourLines(l.PerHour)...)
	if l.Binding != nil {
		lines = append(lines, "  The next launch would be refused by "+*l.Binding+".")
	}
	return lines
}

// hourLines says how much of an hour's worth an account has used.
func hourLines(l protocol.HourLimits) []string {
	var lines []string
	for _, one := range []struct {
		name  string
		limit *protocol.CountLimit
	}{{"validations", l.Validations}, {"messages", l.Messages}} {
		if one.limit != nil {
			lines = append(lines, fmt.Sprintf("  %-12s %d of %d used this hour%s", one.name, one.limit.Used, one.limit.Limit, resetText(one.limit.ResetsAt)))
		}
	}
	return lines
}

func resetText(at *time.Time) string {
	if at == nil {
		return ""
	}
	return ", the next is given back at " + stamp(*at)
}

// afterRun is what to do next about a run.
func afterRun(r api.Run) []string {
	switch {
	case r.Result != nil:
		return resultLines(*r.Result)
	case r.State == protocol.RunScored && r.Stage != nil && *r.Stage == protocol.StageCollect:
		return []string{next("runs", "--challenge", r.ChallengeID, "--run-id", r.RunID) + "   (shows the collected result)"}
	case r.State == protocol.RunScored:
		return []string{next("result", "collect", "--challenge", r.ChallengeID, "--run-id", r.RunID)}
	case !r.State.Ended():
		return []string{next("runs", "--challenge", r.ChallengeID, "--run-id", r.RunID, "--wait")}
	case r.PlatformFault:
		return []string{"It failed on the arena's side, and a failed run does not count for the daily limit.", next("run", "--challenge", r.ChallengeID, "--id", r.EnvironmentID)}
	default:
		return nil
	}
}

func faultText(r api.Run) string {
	switch {
	case r.PlatformFault:
		return "platform: the arena's side, not the collection"
	case r.Fault != nil:
		return string(*r.Fault)
	default:
		return ""
	}
}

// cancelText says who answered a cancel, and when.
func cancelText(r api.Run) string {
	text := timeText("asked for at ", r.CancelRequested)
	switch {
	case r.CancelAcknowledged != nil:
		text += timeText(", taken by the provider at ", r.CancelAcknowledged)
	case text != "" && !r.State.Ended():
		text += ", not taken by the provider so far"
	}
	return text
}

func jobText(r api.Run) string {
	text := r.Status
	if job := deref(r.JobStatus); job != "" && job != text {
		text += " (" + job + ")"
	}
	if id := deref(r.JobID); id != "" {
		text += ", " + id + " at " + r.Provider
	}
	if url := deref(r.JobURL); url != "" {
		text += ", " + url
	}
	return text
}

func costText(r api.Run) string {
	if r.SettledUSD != nil {
		return fmt.Sprintf("$%s billed of $%s reserved", *r.SettledUSD, r.MaxComputeUSD)
	}
	return fmt.Sprintf("$%s reserved", r.MaxComputeUSD)
}

// stageText is one stage with its counts.
func stageText(s protocol.StageProgress) string {
	text := fmt.Sprintf("  %-12s ", s.Stage)
	if s.Total > 0 || s.Done > 0 {
		text += fmt.Sprintf("%d of %d done: %d passed, %d failed, %d errors, %d timeouts", s.Done, s.Total, s.Passed, s.Failed, s.Errors, s.Timeouts)
	}
	switch {
	case s.StartedAt != nil && s.EndedAt != nil:
		text = join(text, "took "+s.EndedAt.Sub(*s.StartedAt).Round(time.Second).String())
	case s.StartedAt != nil:
		text = join(text, "running since "+stamp(*s.StartedAt))
	}
	return strings.TrimRight(text, " ")
}

func join(text, more string) string {
	if strings.HasSuffix(text, " ") {
		return text + more
	}
	return text + ", " + more
}

func timeText(before string, at *time.Time) string {
	if at == nil {
		return ""
	}
	return before + stamp(*at)
}

// stamp is a time as every note shows it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
