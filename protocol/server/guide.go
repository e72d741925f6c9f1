package server

import (
	"net/http"
	"strings"

	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/server/pages"
)

// guide answers the guide as it holds for this arena.
func (s *Server) guide(c *call) error { return c.guideText("guide.md", api.ContentMarkdown) }

// legacyGuide answers what was retired.
func (s *Server) legacyGuide(c *call) error { return c.guideText("legacy.md", api.ContentMarkdown) }

// llms answers where to read what.
func (s *Server) llms(c *call) error { return c.guideText("llms.txt", api.ContentText) }

// guideText renders one of the texts that describe the arena.
func (c *call) guideText(name, contentType string) error {
	var meta api.AppMeta
	var challenges api.Challenges
	if err := c.read("appMeta", nil, &meta); err != nil {
		return err
	}
	if err := c.read("listChallenges", nil, &challenges); err != nil {
		return err
	}
	s := c.server
	view := pages.Guide{
		Site: c.site("Guide", ""), Challenges: challenges.Challenges, Default: defaultChallenge(challenges.Challenges), Tracks: meta.Tracks,
		RepoTypes: meta.RepoTypes, Limits: meta.Limits, Validations: s.Service.PerHour.Validations, Messages: s.Service.PerHour.Messages,
		GateSet: gates.GateSet, Gates: gates.Catalogue(), Categories: task.Categories(), Stages: protocol.Stages(),
		Hub: s.knowsHub(), EditorOrg: s.Service.Configs.Arena.Identity.EditorOrganization, Endpoints: api.Endpoints(), Retired: retired(),
	}
	raw, err := s.pages.Text(name, view)
	if err != nil {
		return err
	}
	return c.bytes(http.StatusOK, contentType+"; charset=utf-8", raw)
}

// knowsHub reports whether accounts of the hub are known here.
func (s *Server) knowsHub() bool {
	return s.Service.Configs.Arena.Identity.Mode == "hub"
}

// defaultChallenge is the one that a newcomer should take: the first that is
// open and not paused, else the first.
func defaultChallenge(all []api.Challenge) api.Challenge {
	for _, c := range all {
		if c.Status == protocol.StatusOpen && c.RunsPaused == nil {
			return c
		}
	}
	if len(all) == 0 {
		return api.Challenge{ID: protocol.PlaceChallenge}
	}
	return all[0]
}

// retired lists the addresses of the hosted arena that are gone (seed 003).
func retired() []pages.Retired {
	return []pages.Retired{
		{Path: "/arena_cli.py", What: "the command line in Python", Instead: "the program `arena`, at `/cli/OS/ARCH`; it has the same verbs"},
		{Path: "/validation_gates.py", What: "the static gates in Python", Instead: "`arena gates static DIR` and `/api/gates/catalogue`"},
		{Path: "/api/arena/competitions", What: "uploading trained adapters to a practice track", Instead: "collections on challenges: `/api/challenges` and `/api/environments`"},
		{Path: "/api/arena/competitions/", What: "one such competition", Instead: "`/api/challenges/CHALLENGE`"},
		{Path: "/api/experiments", What: "experiments", Instead: "runs: `/api/challenges/CHALLENGE/runs`"},
		{Path: "/api/experiments/", What: "one such experiment", Instead: "`/api/challenges/CHALLENGE/runs/RUN`"},
		{Path: "/api/presets", What: "the Google Auto and shift-schedule presets", Instead: "the recipe of a challenge: `/api/formula`"},
		{Path: "/api/presets/", What: "one such preset", Instead: "`/api/formula`"},
		{Path: "/api/v2/", What: "hosted execution, version 2, and the leaderboard of a track", Instead: "`/api/challenges/CHALLENGE/runs` and `/api/challenges/CHALLENGE/leaderboard`; `/api/v2/challenges` still lists the tracks"},
	}
}

// unmatched answers addresses that no route has: a pointer for those that were
// retired.
func (s *Server) unmatched(c *call) error {
	for _, r := range retired() {
		if c.r.URL.Path == r.Path || strings.HasSuffix(r.Path, "/") && strings.HasPrefix(c.r.URL.Path, r.Path) {
			return protocol.ErrGone.Detailf("%s was %s and is retired. Instead: %s. %s/AGENTS-legacy.md lists everything that is gone.", r.Path, r.What, r.Instead, s.BaseURL)
		}
	}
	return protocol.ErrNotFound
}
