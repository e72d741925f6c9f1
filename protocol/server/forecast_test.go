package server_test

import (
	"math"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/artifacts"
)

// TestForecastFollowsTheAttempts launches a collection twice. Before its first
// run nobody knows how much it can teach; after it the run, the preflight and
// the submission say the same, task by task to the author and in sums to
// everybody.
func TestForecastFollowsTheAttempts(t *testing.T) {
	t.Parallel()
	s := newSite(t, fast)
	env := s.submit(author, "collection")
	preflight := func() api.Preflight {
		return decode[api.Preflight](t, s.want(200, "GET", runsPath+"/preflight?environment_id="+env.ID, author, nil))
	}
	submission := func(who string) *artifacts.Forecast {
		return decode[api.SubmissionPage](t, s.want(200, "GET", "/api/app/submissions/"+env.ID, who, nil)).Forecast
	}
	if p := preflight(); p.Forecast != nil || submission(author) != nil {
		t.Fatalf("before any run there is a forecast: %+v", p.Forecast)
	}
	run := s.ended(s.started(author, "request-001", env.ID).RunID)
	list := decode[api.Attempts](t, s.want(200, "GET", runsPath+"/"+run.RunID+"/attempts", author, nil))
	want := artifacts.NewForecast(artifacts.CountTries(list.Attempts), 8)
	if want.Tried != len(want.Tasks) || want.Attempts < want.Tried || want.Useful <= 0 || want.Useful >= 1 {
		t.Fatalf("the attempts make no sensible forecast: %+v", want)
	}
	seen := map[string]*artifacts.Forecast{
		"the attempts": list.Forecast, "the preflight": preflight().Forecast, "the submission": submission(author),
		"the run":            decode[api.Run](t, s.want(200, "GET", runsPath+"/"+run.RunID, author, nil)).Forecast,
		"the run's own page": decode[api.AppRun](t, s.want(200, "GET", "/api/app/runs/"+run.RunID, author, nil)).Run.Forecast,
	}
	for where, f := range seen {
		if f == nil || len(f.Tasks) != want.Tried || f.Tried != want.Tried || f.Attempts != want.Attempts || math.Abs(f.Useful-want.Useful) > 1e-9 {
			t.Errorf("%s: %+v\nwant %+v", where, f, want)
		}
	}
	for _, who := range []string{nobody, other} {
		if f := submission(who); f == nil || len(f.Tasks) != 0 || f.Tried != want.Tried || math.Abs(f.Useful-want.Useful) > 1e-9 {
			t.Errorf("%s sees %+v, want the sums alone", who, f)
		}
	}
}

// TestLimitsAreSaid looks at the limits before, during and after a run.
func TestLimitsAreSaid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	env := s.submit(author, "collection")
	limits := func() protocol.LaunchLimits {
		return decode[api.Preflight](t, s.want(200, "GET", runsPath+"/preflight?environment_id="+env.ID, author, nil)).Limits
	}
	if l := limits(); l.RunsPerDay.Remaining != 1 || l.ActiveRuns.Remaining != 1 || l.Compute.Used != 0 || l.Binding != nil {
		t.Errorf("before: %+v", l)
	}
	run := s.started(author, "request-001", env.ID)
	l := limits()
	if l.RunsPerDay.Used != 1 || l.ActiveRuns.Used != 1 || l.Compute.Used != run.MaxComputeUSD || l.Binding == nil || *l.Binding != protocol.CheckDailyLimit {
		t.Errorf("during: %+v", l)
	}
	if want := run.CreatedAt.Add(protocol.DailyWindow); l.ResetsAt == nil || !l.ResetsAt.Equal(want) {
		t.Errorf("it resets at %v, want %s", l.ResetsAt, want)
	}
	s.want(200, "POST", runsPath+"/"+run.RunID+"/cancel", author, nil)
	s.ended(run.RunID)
	if l := limits(); l.RunsPerDay.Remaining != 1 || l.ActiveRuns.Remaining != 1 || l.Binding != nil {
		t.Errorf("after a canceled run: %+v", l)
	}
}

// TestLiveRunExplainsItself reads a run that goes on as everybody may.
func TestLiveRunExplainsItself(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	run := s.started(author, "request-001", s.submit(author, "collection").ID)
	for _, path := range []string{runsPath + "/" + run.RunID, "/api/app/runs/" + run.RunID} {
		a := s.want(200, "GET", path, nobody, nil)
		r := decode[api.Run](t, a)
		if r.RunID == "" {
			r = decode[api.AppRun](t, a).Run
		}
		if r.Reason == nil || r.BlockedBy == nil || r.StallsAt == nil || r.NextCheckAt == nil || r.Stalled || r.StalledBecause != nil || r.Since.IsZero() {
			t.Errorf("%s: %s", path, a.body)
		}
	}
}
