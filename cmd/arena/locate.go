package main

import (
	"context"
	"errors"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/client"
)

// runFlags name one run. A run's id says which run it is but not on which
// challenge, so the challenge may be left out and is then looked for.
type runFlags struct {
	RunID     string `required:"" placeholder:"RUN" help:"The run's id, challenge-…."`
	Challenge string `placeholder:"CHALLENGE" help:"Its challenge; looked for when left out."`
}

// challenge is the run's challenge.
func (f runFlags) challenge(ctx context.Context, c *client.Client) (string, error) {
	if f.Challenge != "" {
		return f.Challenge, nil
	}
	all, err := c.ListChallenges(ctx)
	if err != nil {
		return "", err
	}
	for _, ch := range all.Value.Challenges {
		_, err := c.GetRun(ctx, ch.ID, f.RunID)
		if err == nil {
			return ch.ID, nil
		}
		if !errors.Is(err, protocol.ErrNoRun) {
			return "", err
		}
	}
	return "", protocol.ErrNoRun.Detailf("No challenge of this arena has a run %s.", f.RunID)
}

// uncertain adds what to do about a write whose outcome is not known. A definite
// answer gets nothing added.
func uncertain(err error, advice string) error {
	e, ok := errors.AsType[*protocol.Error](err)
	if !ok || e.Kind.Status() < 500 || errors.Is(err, client.ErrBundleRead) || errors.Is(err, client.ErrRedirect) {
		return err
	}
	return &advised{err, []string{advice}}
}
