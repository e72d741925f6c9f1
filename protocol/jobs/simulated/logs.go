package simulated

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// glance is how long Logs waits at most before it looks again whether somebody
// canceled the job.
const glance = 500 * time.Millisecond

// chunk is how many lines the log faults deliver at a time.
const chunk = 8

// Logs yields the lines after a position as they are printed. It ends without
// an error when the job has ended or ctx is done.
func (p *Provider) Logs(ctx context.Context, id string, after int64) iter.Seq2[jobs.Line, error] {
	return func(yield func(jobs.Line, error) bool) {
		next := int(min(max(0, after), math.MaxInt32))
		for ctx.Err() == nil {
			v, err := p.look(ctx, id)
			if err != nil {
				if ctx.Err() == nil {
					yield(jobs.Line{}, fmt.Errorf("read the log of job %s: %w", id, err))
				}
				return
			}
			upto := v.ready(next)
			for _, l := range v.delivery(next, upto) {
				if !yield(l, nil) {
					return
				}
			}
			if v.ended() {
				return
			}
			if upto <= next {
				pause(ctx, v.untilNext())
			}
			next = max(next, upto)
		}
	}
}

// ready returns up to which index lines can be delivered: all that have been
// printed, but for the log faults only whole pairs of chunks.
func (v view) ready(next int) int {
	upto := v.visible()
	if upto <= next || v.ended() || !v.Faults.has(FaultDuplicateLog) && !v.Faults.has(FaultReorderLog) {
		return upto
	}
	return next + (upto-next)/(2*chunk)*(2*chunk)
}

// delivery returns lines in the order in which they are delivered.
func (v view) delivery(from, upto int) []jobs.Line {
	var lines []jobs.Line
	if !v.Faults.has(FaultReorderLog) {
		lines = v.between(lines, from, upto)
	} else {
		for ; from < upto; from += 2 * chunk {
			middle, end := min(from+chunk, upto), min(from+2*chunk, upto)
			lines = v.between(v.between(lines, middle, end), from, middle)
		}
	}
	if !v.Faults.has(FaultDuplicateLog) {
		return lines
	}
	var twice []jobs.Line
	for i := 0; i < len(lines); i += chunk {
		part := lines[i:min(i+chunk, len(lines))]
		twice = append(append(twice, part...), part...)
	}
	return twice
}

// between appends the lines of a range of indexes.
func (v view) between(lines []jobs.Line, from, upto int) []jobs.Line {
	for i := from; i < upto; i++ {
		lines = append(lines, v.line(i))
	}
	return lines
}

// untilNext returns how long nothing new can happen that only time brings about.
func (v view) untilNext() time.Duration {
	next := v.endsAt()
	if n := v.visible(); n < len(v.script.Lines) {
		next = v.due(v.script.Lines[n].Offset)
	}
	return min(glance, max(time.Millisecond, next.Sub(v.now)))
}

// pause waits for some time or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
