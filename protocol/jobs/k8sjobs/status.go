package k8sjobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// view is what the cluster and the record say about a job at one moment.
type view struct {
	record
	name string
	job  *batch.Job // nil when the cluster has forgotten it
	pod  *core.Pod  // nil when it has none, or none any more
}

// changed reports whether the view knows more than a record.
func (v *view) changed(r record) bool { return v.record != r }

// learn takes into the record what the cluster says now and may forget.
func (v *view) learn() {
	if v.job == nil || v.End != nil {
		return
	}
	v.UID, v.CreatedAt = string(v.job.UID), v.job.CreationTimestamp.UTC()
	if v.pod != nil {
		if at := v.pod.Status.StartTime; at != nil && v.BilledFrom.IsZero() {
			v.BilledFrom = at.UTC()
		}
		if at := began(v.pod); !at.IsZero() && v.StartedAt.IsZero() {
			v.StartedAt = at.UTC()
		}
		v.Waiting = waiting(v.pod)
	}
	if c := condition(v.job, batch.JobComplete); c != nil {
		v.End = v.ended(jobs.Completed, "", c.LastTransitionTime.UTC())
	} else if c := condition(v.job, batch.JobFailed); c != nil {
		status, message := v.failure(c)
		v.End = v.ended(status, message, c.LastTransitionTime.UTC())
	}
}

// ended is an ending at a time that the cluster names. The container's own end is
// what counts for money when it is known.
func (v *view) ended(status jobs.Status, message string, at time.Time) *ending {
	stopped := at
	if t := terminated(v.pod); t != nil && !t.FinishedAt.IsZero() {
		stopped = t.FinishedAt.UTC()
	}
	return &ending{Status: status, Message: message, EndedAt: at, Billed: v.billed(stopped)}
}

// canceled is the ending of a job that was canceled and is gone. When its pod
// stopped was seen by nobody; it had its grace for that and not more.
func (v *view) canceled(now time.Time) *ending {
	at := v.CanceledAt.Add(v.Grace)
	if now.Before(at) {
		at = now.UTC()
	}
	return &ending{Status: jobs.Canceled, EndedAt: at, Billed: v.billed(at)}
}

// billed is the time that costs money by a moment: from when the pod was on a node,
// never more than was reserved. The cluster counts in whole seconds, so what has
// begun costs at least one.
func (v *view) billed(until time.Time) time.Duration {
	from := v.BilledFrom
	if from.IsZero() {
		from = v.StartedAt
	}
	if from.IsZero() {
		return 0
	}
	return min(max(until.Sub(from), time.Second), v.Timeout)
}

// failure says why a Job failed.
func (v *view) failure(c *batch.JobCondition) (jobs.Status, string) {
	started := !v.StartedAt.IsZero()
	why := podFailure(v.pod)
	switch {
	case v.pod != nil && v.pod.Status.Reason == reasonDeadline && started:
		return jobs.TimedOut, why
	case c.Reason == batch.JobReasonDeadlineExceeded && started:
		return jobs.TimedOut, c.Reason + ": " + sentence(c.Message)
	case c.Reason == batch.JobReasonDeadlineExceeded || v.pod != nil && v.pod.Status.Reason == reasonDeadline:
		message := "DeadlineExceeded: the job never ran, because its pod waited for too long"
		if v.Waiting != "" {
			message += " (" + v.Waiting + ")"
		}
		return jobs.Failed, message
	case !v.CanceledAt.IsZero(): // its pod was ended before the Job was gone
		return jobs.Canceled, ""
	case why != "":
		return jobs.Failed, why
	default:
		return jobs.Failed, c.Reason + ": " + sentence(c.Message)
	}
}

// answer returns what the provider says about the job as of now.
func (v *view) answer(now time.Time) jobs.Job {
	j := jobs.Job{ID: v.name, Run: v.Run, Status: jobs.Scheduling, Message: v.Waiting, CreatedAt: v.CreatedAt, StartedAt: v.StartedAt}
	switch {
	case v.End != nil:
		j.Status, j.Message, j.EndedAt, j.Billed = v.End.Status, v.End.Message, v.End.EndedAt, v.End.Billed
		return j
	case !v.StartedAt.IsZero():
		j.Status, j.Message = jobs.Running, ""
	case v.job != nil && condition(v.job, batch.JobSuspended) != nil:
		j.Message = "Suspended: the cluster holds the job back"
	}
	if t := terminated(v.pod); t != nil && !t.FinishedAt.IsZero() {
		now = t.FinishedAt.Time
	}
	j.Billed = v.billed(now)
	return j
}

// condition returns a condition of a Job that holds, nil when it does not.
func condition(job *batch.Job, kind batch.JobConditionType) *batch.JobCondition {
	for i, c := range job.Status.Conditions {
		if c.Type == kind && c.Status == core.ConditionTrue {
			return &job.Status.Conditions[i]
		}
	}
	return nil
}

// containerStatus returns the state of the command's container.
func containerStatus(pod *core.Pod) *core.ContainerStatus {
	if pod == nil {
		return nil
	}
	i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s core.ContainerStatus) bool { return s.Name == container })
	if i < 0 {
		return nil
	}
	return &pod.Status.ContainerStatuses[i]
}

func terminated(pod *core.Pod) *core.ContainerStateTerminated {
	if s := containerStatus(pod); s != nil {
		return s.State.Terminated
	}
	return nil
}

// began is when the command's container began to run; zero when it did not.
func began(pod *core.Pod) time.Time {
	s := containerStatus(pod)
	switch {
	case s == nil:
	case s.State.Running != nil:
		return s.State.Running.StartedAt.Time
	case s.State.Terminated != nil:
		return s.State.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// waiting says why a pod does not run yet, when the reason may last.
func waiting(pod *core.Pod) string {
	if s := containerStatus(pod); s != nil && s.State.Waiting != nil {
		switch w := s.State.Waiting; w.Reason {
		case "", "ContainerCreating", "PodInitializing":
		default:
			return strings.TrimSuffix(w.Reason+": "+sentence(w.Message), ": ")
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == core.PodScheduled && c.Status == core.ConditionFalse {
			return strings.TrimSuffix(c.Reason+": "+sentence(c.Message), ": ")
		}
	}
	return ""
}

// The words that the cluster has for why a pod or its container stopped.
const (
	reasonDeadline = "DeadlineExceeded" // of a pod whose activeDeadlineSeconds are over
	reasonMemory   = "OOMKilled"        // of a container
	reasonError    = "Error"            // of a container whose command failed
)

// podFailure says why a pod failed, in a sentence that starts with the cluster's
// word; empty when the pod does not say.
func podFailure(pod *core.Pod) string {
	if pod == nil {
		return ""
	}
	if r := pod.Status.Reason; r != "" { // Evicted, DeadlineExceeded, UnexpectedAdmissionError, …
		return strings.TrimSuffix(r+": "+sentence(pod.Status.Message), ": ")
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == core.DisruptionTarget && c.Status == core.ConditionTrue {
			return strings.TrimSuffix(c.Reason+": "+sentence(c.Message), ": ")
		}
	}
	t := terminated(pod)
	switch {
	case t == nil:
		return waiting(pod)
	case t.Reason == reasonMemory:
		return fmt.Sprintf("%s: the command used more memory than its container may have (exit code %d)", t.Reason, t.ExitCode)
	case t.ExitCode == 137:
		return "Killed: the command was killed from outside (exit code 137)"
	case t.Reason == reasonError || t.Reason == "":
		return fmt.Sprintf("Error: the command exited with code %d", t.ExitCode)
	default: // StartError, ContainerCannotRun, …
		return fmt.Sprintf("%s: %s (exit code %d)", t.Reason, sentence(t.Message), t.ExitCode)
	}
}
