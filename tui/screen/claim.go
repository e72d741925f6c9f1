package screen

import (
	"context"
	"errors"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/nav"
)

// claimRefused says that another editor reviews a result.
type claimRefused struct{ run string }

// liveClaim is who reviews a pending result now.
func liveClaim(w World, res api.Result) (api.Claim, bool) {
	if res.Claim == nil || res.Verification != protocol.Pending || !w.Now.Before(res.Claim.ExpiresAt) {
		return api.Claim{}, false
	}
	return *res.Claim, true
}

// othersClaim is the live claim of somebody else.
func othersClaim(w World, res api.Result) (api.Claim, bool) {
	c, ok := liveClaim(w, res)
	return c, ok && c.By != w.Me().Name
}

// claimNote says who reviews a result, empty when nobody does.
func claimNote(w World, res api.Result) string {
	switch c, ok := liveClaim(w, res); {
	case !ok:
		return ""
	case c.By == w.Me().Name:
		return "you are reviewing it"
	default:
		return fmt.Sprintf("%s is reviewing it until %s", c.By, clock(w, c.ExpiresAt))
	}
}

// claim says to the arena that the person reviews a result, or stopped, so that
// another editor does not judge it at the same time. That it worked shows by the
// event which follows.
func claim(w World, res api.Result, release bool) tea.Cmd {
	return w.Do(func(ctx context.Context, a API) tea.Msg {
		_, err := a.Claim(ctx, res.ChallengeID, res.RunID, api.ClaimRequest{Release: release})
		switch {
		case err == nil || release: // a claim ends by itself
			return nil
		case errors.Is(err, protocol.ErrClaimed):
			return claimRefused{res.RunID}
		default:
			return nav.Flash{Mood: nav.Warned, Text: "Other organizers are not told that you review it: " + sentence(err.Error())}
		}
	})
}

// giveUp ends the person's claim when they leave the note.
func (s *reviewScreen) giveUp(w World) tea.Cmd {
	if _, res, ok := s.result(w); ok && !w.Held(s.route.Run) {
		return claim(w, res, true)
	}
	return nil
}

// giveBack ends the person's claim when they leave the result undecided, as after
// a question that they answered with no.
func (s *reviewScreen) giveBack(w World) tea.Cmd {
	_, res, ok := s.result(w)
	if c, claimed := liveClaim(w, res); !ok || !claimed || c.By != w.Me().Name {
		return nil
	}
	return s.giveUp(w)
}
