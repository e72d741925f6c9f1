package screen

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/nav"
)

// Changed brings what the arena answered to an action. The root keeps the run
// that came with it and passes the message on to the screens.
type Changed struct {
	What string   // what was asked for, such as "cancel 686406432ff8"
	Said string   // what to say when it was done
	Run  *api.Run // the run as it is now; nil when the answer was no run
	// Reviewed is the result as it is now; nil when the answer was no result.
	Result *api.Result
	Posted *api.Message
	// Attached is the verdict as it is now; nil when the answer was none.
	Attached *api.AttachedGates
	Err      error
}

// runSubject is a run to copy.
func runSubject(r api.Run) Subject {
	return Subject{What: "run", ID: r.RunID, Value: r, Command: []string{"runs", "--challenge", r.ChallengeID, "--run-id", r.RunID}}
}

// actOnRun does what a key asks for about a run.
func actOnRun(w World, r api.Run, i Intent) tea.Cmd {
	at := func(p nav.Place) tea.Cmd {
		return nav.Go(nav.Route{Place: p, Challenge: r.ChallengeID, Run: r.RunID})
	}
	switch i {
	case Choose:
		return at(nav.Run)
	case OpenLog:
		return at(nav.RunLog)
	case OpenAttempts:
		return at(nav.Attempts)
	case OpenResult:
		if !collected(&r) {
			return nav.Say(nav.Warned, notCollected(r))
		}
		return at(nav.Review)
	case OpenCollection:
		return nav.Go(nav.Route{Place: nav.Collection, Challenge: r.ChallengeID, Collection: r.EnvironmentID})
	case CollectResult:
		return collectRun(w, r)
	case CancelRun:
		return askCancel(w, r)
	default:
		return nil
	}
}

func notCollected(r api.Run) string {
	if r.State == protocol.RunScored {
		return "The result was not collected yet: s collects it."
	}
	return fmt.Sprintf("The run is %s: there is no result.", r.State)
}

// askCancel asks before a run is stopped.
func askCancel(w World, r api.Run) tea.Cmd {
	switch {
	case r.State.Ended():
		return nav.Say(nav.Warned, fmt.Sprintf("The run is %s: there is nothing to cancel.", r.State))
	case r.CancelRequested != nil:
		return nav.Say(nav.Warned, "The provider has been asked to stop it already.")
	}
	of := collectionsByID(w.Data)
	ask := nav.Ask{
		Title: "Cancel this run?", Do: "Cancel the run", Keep: "Keep it running", Danger: true,
		Object: r.RunID + " of " + team(of, r.EnvironmentID, r.Author) + " on " + r.ChallengeID,
		Effect: "The provider is asked to stop the job. It gives no result, and its collection may run again.",
		Cost:   "What ran is billed, at most the reserved " + dollars(r.MaxComputeUSD) + ".",
		Then: w.Do(func(ctx context.Context, a API) tea.Msg {
			ans, err := a.Cancel(ctx, r.ChallengeID, r.RunID)
			m := Changed{What: "cancel " + shortID(r.RunID), Said: "The provider was asked to stop " + shortID(r.RunID) + ".", Err: err}
			if err == nil {
				m.Run = &ans.Value
			}
			return m
		}),
	}
	return nav.To(ask)
}

// collectRun stores a scored run's result for review. It spends nothing and can
// be repeated, so it is not asked about.
func collectRun(w World, r api.Run) tea.Cmd {
	switch {
	case collected(&r):
		return nav.Say(nav.Warned, "The result was collected already: v shows it.")
	case r.State != protocol.RunScored:
		return nav.Say(nav.Warned, fmt.Sprintf("The run is %s: there is no result to collect.", r.State))
	}
	return w.Do(func(ctx context.Context, a API) tea.Msg {
		ans, err := a.Collect(ctx, r.ChallengeID, r.RunID)
		m := Changed{What: "collect " + shortID(r.RunID), Said: "The result of " + shortID(r.RunID) + " waits for review.", Err: err}
		if err == nil {
			m.Result = &ans.Value
		}
		return m
	})
}
