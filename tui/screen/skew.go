package screen

import (
	"time"

	"github.com/posttrainarena/arena/protocol/api"
)

// Skew is how far the arena's clock is ahead of this machine's. A mocked arena
// runs on a clock of its own, and what it has written last is its present.
func (d *Data) Skew() time.Duration { return d.skew }

// learnSkew looks at the times of an answer of a mocked arena. The arena's clock
// is at least where its newest time is.
func (d *Data) learnSkew(value any) {
	if v, _ := Read(d, VersionQuery()); !v.Mock {
		return
	}
	newest := newestIn(value)
	if skew := newest.Sub(d.now); !newest.IsZero() && (d.skew == 0 || skew > d.skew) {
		d.skew = skew
	}
	if d.skew > -quietMock && d.skew < 0 {
		d.skew = 0
	}
}

// quietMock is how long nothing may have happened in a mocked arena whose clock is
// right.
const quietMock = 24 * time.Hour

// newestIn is the newest time of an answer.
func newestIn(value any) time.Time {
	var newest time.Time
	see := func(times ...*time.Time) {
		for _, t := range times {
			if t != nil && t.After(newest) {
				newest = *t
			}
		}
	}
	seeRun := func(r api.Run) {
		see(&r.CreatedAt, &r.Since, r.StartedAt, r.EndedAt)
		for _, s := range r.Stages {
			see(s.StartedAt, s.EndedAt)
		}
		if n := len(r.Training); n > 0 {
			see(&r.Training[n-1].At)
		}
		if r.Result != nil {
			see(&r.Result.CollectedAt, r.Result.ReviewedAt)
		}
	}
	switch v := value.(type) {
	case api.Run:
		seeRun(v)
	case Rows[api.Run]:
		for _, r := range v.All {
			seeRun(r)
		}
	case Rows[api.Message]:
		for _, m := range v.All {
			see(&m.CreatedAt)
		}
	case Rows[api.Environment]:
		for _, e := range v.All {
			see(&e.CreatedAt)
		}
	}
	return newest
}
