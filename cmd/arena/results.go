package main

import (
	"context"
	"fmt"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// resultCmd groups what there is to do with results.
type resultCmd struct {
	Collect resultCollectCmd `cmd:"" help:"Recompute a scored run's result from its evidence and store it for review."`
	Claim   resultClaimCmd   `cmd:"" help:"Say that you review a result, so that no other editor does; ends by itself."`
	Review  resultReviewCmd  `cmd:"" help:"Accept or reject a collected result; editors only, and final."`
}

type resultCollectCmd struct {
	remote
	Of runFlags `embed:""`
}

// Run collects the result.
func (cmd *resultCollectCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.signed()
	if err != nil {
		return err
	}
	challenge, err := cmd.Of.challenge(ctx, c)
	if err != nil {
		return err
	}
	a, err := c.Collect(ctx, challenge, cmd.Of.RunID)
	if err != nil {
		return uncertain(err, "The result may have been stored. Repeat the command: a result is collected once.")
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	env.tell(resultLines(a.Value))
	return nil
}

type resultClaimCmd struct {
	remote
	Of      runFlags `embed:""`
	Release bool     `help:"Give the claim up."`
}

// Run claims the result.
func (cmd *resultClaimCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.signed()
	if err != nil {
		return err
	}
	challenge, err := cmd.Of.challenge(ctx, c)
	if err != nil {
		return err
	}
	a, err := c.Claim(ctx, challenge, cmd.Of.RunID, api.ClaimRequest{Release: cmd.Release})
	if err != nil {
		return uncertain(err, "The claim may have been stored. Repeating the command is harmless.")
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	env.tell(claimLines(a.Value, cmd.Release))
	return nil
}

// claimLines says who reviews a result and until when.
func claimLines(r api.Result, released bool) []string {
	if released || r.Claim == nil {
		return []string{"The claim on " + r.RunID + " is given up: any editor may review it."}
	}
	return []string{
		fmt.Sprintf("%s reviews %s until %s.", r.Claim.By, r.RunID, r.Claim.ExpiresAt.Format("15:04 MST")),
		next("result", "review", "--challenge", r.ChallengeID, "--run-id", r.RunID, "--file", "review.json"),
	}
}

type resultReviewCmd struct {
	remote
	Of   runFlags `embed:""`
	File string   `required:"" placeholder:"FILE" help:"JSON with accepted and a factual note of at least 20 characters; - is standard input."`
}

// Run reviews the result.
func (cmd *resultReviewCmd) Run(ctx context.Context, env *environ) error {
	var req api.ReviewRequest
	if err := env.decode(cmd.File, &req); err != nil {
		return err
	}
	c, err := env.signed()
	if err != nil {
		return err
	}
	challenge, err := cmd.Of.challenge(ctx, c)
	if err != nil {
		return err
	}
	a, err := c.Review(ctx, challenge, cmd.Of.RunID, req)
	if err != nil {
		return uncertain(err, "The review may have been stored. See it with: arena runs --challenge "+argument(challenge)+" --run-id "+argument(cmd.Of.RunID))
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	env.tell(resultLines(a.Value))
	return nil
}

// resultLines says what a run measured and what comes next.
func resultLines(r api.Result) []string {
	var lines []string
	if r.Existing {
		lines = append(lines, "This result was collected before; it is unchanged.")
	}
	lines = append(lines,
		fmt.Sprintf("%s: %s before, %s after, Δ %s", r.RunID, percent(r.BaselinePassRate), percent(r.AfterPassRate), points(r.DeltaPP, r.StderrPP)),
		fmt.Sprintf("%s, %s each; errors %d before and %d after, timeouts %d and %d",
			counted(r.NTasks, "held-out task"), counted(r.Trials, "trial"), r.Errors.Baseline, r.Errors.Posttrain, r.Timeouts.Baseline, r.Timeouts.Posttrain))
	if !r.GRPORan || !r.GRPOEffectiveUpdate {
		lines = append(lines, "Training made no effective update, so the change is noise.")
	}
	if r.Simulated {
		lines = append(lines, "The run was simulated: these numbers are invented.")
	}
	switch r.Verification {
	case protocol.Pending:
		return append(lines, "It awaits an editor's review.",
			next("result", "review", "--challenge", r.ChallengeID, "--run-id", r.RunID, "--file", "review.json")+"   (editors)")
	case protocol.Valid:
		lines = append(lines, fmt.Sprintf("Accepted by %s: %s", deref(r.ReviewedBy), r.VerificationNote))
	default:
		lines = append(lines, fmt.Sprintf("Rejected by %s: %s", deref(r.ReviewedBy), r.VerificationNote))
	}
	return append(lines, next("leaderboard", "--challenge", r.ChallengeID))
}

// percent is a share as a percentage with one decimal.
func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// points is a difference in percentage points with its standard error.
func points(delta, stderr float64) string { return fmt.Sprintf("%+.1f ± %.1f pp", delta, stderr) }

// deref is the string behind a pointer, empty for nil.
func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
