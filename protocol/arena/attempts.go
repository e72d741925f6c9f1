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
	var out Attempts
	out.List, out.Problems = artifacts.Attempts(files)
	if tries := artifacts.CountTries(out.List); len(tries) > 0 {
		c, err := s.Challenge(challenge)
		if err != nil {
			return out, err
		}
		forecast := artifacts.NewForecast(tries, c.Recipe.NumGenerations)
		out.Forecast = &forecast
	}
	return out, nil
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
	list, _ := artifacts.Attempts(files)
	if number < 1 || number > len(list) {
		return artifacts.Detail{}, protocol.ErrNoAttempt.Detailf("This run has %d attempts, numbered from 1.", len(list))
	}
	return artifacts.Open(files, list[number-1])
}

// evidenceOf returns a run whose evidence who may see.
func (s *Service) evidenceOf(ctx context.Context, who protocol.Identity, challenge, runID string) (protocol.Run, error) {
	run, err := s.RunOn(ctx, challenge, runID)
	if err == nil && !who.MayAct(run.Author) {
		err = protocol.ErrNotAuthor
	}
	return run, err
}
