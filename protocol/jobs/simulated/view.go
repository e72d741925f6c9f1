package simulated

import (
	"slices"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// view is one job at one moment. Every decision is made on wall times that due
// derives from offsets, so that status, log and uploads agree to the
// nanosecond.
type view struct {
	*record
	script Script
	now    time.Time
}

// due returns the wall time of an offset of the job's time.
func (v view) due(offset time.Duration) time.Time {
	return v.CreatedAt.Add(time.Duration(float64(offset) / v.Speed))
}

// canceled reports whether the job was stopped before its own end.
func (v view) canceled() bool {
	return !v.canceledAt.IsZero() && v.canceledAt.Before(v.due(v.script.Ends))
}

// endsAt is when the job ends, or ended, as far as is known now.
func (v view) endsAt() time.Time {
	if v.canceled() {
		return v.canceledAt
	}
	return v.due(v.script.Ends)
}

// ended reports whether the job does nothing more.
func (v view) ended() bool { return !v.now.Before(v.endsAt()) }

// begun reports whether the job left the queue before it ended.
func (v view) begun() bool {
	begins := v.due(v.script.Begins)
	return !v.now.Before(begins) && !(v.canceled() && v.canceledAt.Before(begins))
}

// visible returns how many lines have been printed.
func (v view) visible() int {
	end := v.now
	if v.ended() {
		end = v.endsAt()
	}
	n, _ := slices.BinarySearchFunc(v.script.Lines, end, func(l Line, end time.Time) int {
		if v.due(l.Offset).After(end) {
			return 1
		}
		return -1
	})
	return n
}

// line returns the line at an index. Positions count from 1.
func (v view) line(i int) jobs.Line {
	l := v.script.Lines[i]
	return jobs.Line{Position: int64(i) + 1, At: v.due(l.Offset), Text: l.Text}
}

// job returns what the service says about the job.
func (v view) job() jobs.Job {
	j := jobs.Job{ID: v.ID, Run: v.Spec.Run, Status: jobs.Scheduling, CreatedAt: v.CreatedAt}
	if v.begun() {
		j.Status, j.StartedAt = jobs.Running, v.due(v.script.Begins)
		j.Billed = v.billed()
	}
	if v.ended() {
		j.Status, j.Message, j.EndedAt = v.script.Status, v.script.Message, v.endsAt()
		if v.canceled() {
			j.Status, j.Message = jobs.Canceled, "somebody canceled the job"
		}
	}
	return j
}

// billed is the job's time that costs money: all of it since the job left the
// queue, for a canceled job up to its last line (PROTOCOL §8).
func (v view) billed() time.Duration {
	whole := v.script.Ends - v.script.Begins
	switch {
	case !v.ended():
		return min(whole, time.Duration(float64(v.now.Sub(v.due(v.script.Begins)))*v.Speed))
	case !v.canceled():
		return whole
	}
	if n := v.visible(); n > 0 {
		return v.script.Lines[n-1].Offset - v.script.Begins
	}
	return 0
}

// When FaultGone and FaultUnreachable strike, in the job's time.
const (
	awayFrom  = 20 * time.Minute
	awayUntil = 50 * time.Minute
)

// gone reports whether the service has forgotten the job.
func (v view) gone() bool {
	half := v.script.Begins + (v.script.Ends-v.script.Begins)/2
	return v.Faults.has(FaultGone) && !v.now.Before(v.due(half))
}

// away reports whether the job's fault keeps everybody from the service.
func (v view) away() bool {
	return !v.now.Before(v.due(v.script.Begins+awayFrom)) && v.now.Before(v.due(v.script.Begins+awayUntil))
}
