package arena

import (
	"context"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
)

// Attempts is what a run's uploads say about its gate and training attempts.
type Attempts struct {
	List     []artifacts.Attempt
	Problems []artifacts.Problem
	Forecast *artifacts.Forecast // nil without attempts
}

// Attempts lists the gate and training attempts of a run, for the collection's
// author and editors.
func (s *Service) Attempts(ctx context.Context, who protocol.Identity, challenge, runID string) (Attempts, error) {
	run, err := s.evidenceOf(ctx, who, challenge, runID)
	if err != nil {
		return Attempts{}, err
	}
	files, _, err := s.Artifacts(ctx, run.ID)
	if err != nil {
		return Attempts{}, err
	}
	see, err := s.evidenceFor(ctx, who, run)
	if err != nil {
		return Attempts{}, err
	}
	all, problems := artifacts.Attempts(files)
	out := Attempts{Problems: see.problems(problems)}
	for _, a := range all {
		if !see.hidden(a) {
			out.List = append(out.List, see.attempt(a))
		}
	}
	out.Forecast, err = s.RunForecast(ctx, who, run)
	return out, err
}

// Attempt returns one attempt of a run, numbered as in the list.
func (s *Service) Attempt(ctx context.Context, who protocol.Identity, challenge, runID string, number int) (artifacts.Detail, error) {
	run, err := s.evidenceOf(ctx, who, challenge, runID)
	if err != nil {
		return artifacts.Detail{}, err
	}
	files, _, err := s.Artifacts(ctx, run.ID)
	if err != nil {
		return artifacts.Detail{}, err
	}
	see, err := s.evidenceFor(ctx, who, run)
	if err != nil {
		return artifacts.Detail{}, err
	}
	list, _ := artifacts.Attempts(files)
	if number < 1 || number > len(list) || see.hidden(list[number-1]) {
		return artifacts.Detail{}, protocol.ErrNoAttempt.Detailf("This run has %d attempts, numbered from 1.", len(list))
	}
	d, err := artifacts.Open(files, list[number-1])
	return see.detail(d), err
}

// evidenceOf returns a run whose evidence who may see.
func (s *Service) evidenceOf(ctx context.Context, who protocol.Identity, challenge, runID string) (protocol.Run, error) {
	run, err := s.RunOn(ctx, challenge, runID)
	if err == nil && !who.MayAct(run.Author) {
		err = protocol.ErrNotAuthor
	}
	return run, err
}
