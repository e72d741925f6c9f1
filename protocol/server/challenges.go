package server

import (
	"net/http"

	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/arena"
)

func (s *Server) listChallenges(c *call) error {
	standings, err := s.Service.Standings(c.ctx())
	if err != nil {
		return err
	}
	out := api.Challenges{Challenges: []api.Challenge{}}
	for _, st := range standings {
		out.Challenges = append(out.Challenges, api.ChallengeFrom(challengeFacts(st), c.who))
	}
	return c.answer(http.StatusOK, out)
}

func (s *Server) getChallenge(c *call) error {
	st, err := s.Service.Standing(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, api.ChallengeFrom(challengeFacts(st), c.who))
}

// challengeFacts maps what the service knows about a challenge's moment to the
// wire's parts.
func challengeFacts(st arena.Standing) api.ChallengeFacts {
	f := api.ChallengeFacts{Challenge: st.Challenge}
	if st.Priced {
		f.Allocation = &api.Allocation{
			Flavor: st.Challenge.Compute.Flavor, TimeoutSeconds: st.Challenge.Compute.TimeoutSeconds, PricePerHour: st.Price, MaxComputeUSD: st.Reservation,
		}
	}
	if h := st.Health; h != nil {
		f.Health = &api.Health{
			AcceptingRuns: h.Refusal == "", Runs: h.Runs, RemainingUSD: h.Remaining, LastLaunchedAt: h.LastLaunched,
			LastCollectedAt: h.LastCollected, PendingReviews: h.PendingReviews,
		}
		if h.OldestQueued != nil {
			seconds := int64(h.QueuedFor.Seconds())
			f.Health.OldestQueuedAt, f.Health.OldestQueuedAge = h.OldestQueued, &seconds
		}
		f.Health.Reason, f.Health.ActiveRun = api.Optional(h.Refusal), api.Optional(h.ActiveRun)
	}
	return f
}

func (s *Server) listTracks(c *call) error {
	tracks, err := s.Service.Tracks(c.ctx())
	if err != nil {
		return err
	}
	out := api.Tracks{Challenges: []api.Track{}}
	for _, t := range tracks {
		out.Challenges = append(out.Challenges, api.Track{ID: t.ID, Challenges: t.Challenges, Environments: t.Collections})
	}
	return c.answer(http.StatusOK, out)
}

func (s *Server) discover(c *call) error {
	return c.answer(http.StatusOK, api.Discover{Name: "PostTrain Arena", BaseURL: s.BaseURL, Simulated: s.Version.Simulated, Endpoints: api.Endpoints()})
}

func (s *Server) gatesCatalogue(c *call) error {
	return c.answer(http.StatusOK, api.Catalogue{GateSet: gates.GateSet, Rules: gates.Catalogue()})
}
