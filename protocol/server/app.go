package server

import (
	"net/http"
	"slices"

	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/arena"
)

func (s *Server) appMeta(c *call) error {
	standings, err := s.Service.Standings(c.ctx())
	if err != nil {
		return err
	}
	tracks, err := s.Service.Tracks(c.ctx())
	if err != nil {
		return err
	}
	out := api.AppMeta{
		Name: siteName, BaseURL: s.BaseURL, Version: s.Version, Basis: []string{}, Challenges: []api.ChallengeLine{}, Tracks: []api.Track{},
		RepoTypes: s.repoTypes(), Categories: task.Categories(), Limits: s.limits(), Gates: []api.GateLine{},
		States: protocol.RunStates(), Stages: protocol.Stages(), Verifications: []protocol.Verification{protocol.Pending, protocol.Valid, protocol.Rejected},
	}
	for _, st := range standings {
		out.Challenges = append(out.Challenges, challengeLine(st))
		for _, sentence := range st.Challenge.Basis {
			if !slices.Contains(out.Basis, sentence) {
				out.Basis = append(out.Basis, sentence)
			}
		}
	}
	for _, t := range tracks {
		out.Tracks = append(out.Tracks, api.Track{ID: t.ID, Challenges: t.Challenges, Environments: t.Collections})
	}
	for _, r := range gates.Catalogue() {
		out.Gates = append(out.Gates, api.GateLine{Code: r.Code, Severity: r.Severity, Title: r.Title})
	}
	return c.answer(http.StatusOK, out)
}

// siteName is what the arena calls itself.
const siteName = "PostTrain Arena"

// challengeLine maps a challenge's standing to one line.
func challengeLine(st arena.Standing) api.ChallengeLine {
	line := api.ChallengeLine{ID: st.Challenge.ID, Title: st.Challenge.Title, Status: st.Challenge.Status, Track: st.Challenge.Track}
	if h := st.Health; h != nil {
		line.Accepting, line.Reason = h.Refusal == "", api.Optional(h.Refusal)
	}
	return line
}

// repoTypes lists where collections may be: uploads need no host.
func (s *Server) repoTypes() []protocol.RepoType {
	types := []protocol.RepoType{}
	for _, t := range []protocol.RepoType{protocol.RepoDataset, protocol.RepoGitHub} {
		if s.Service.Hosts[t] != nil {
			types = append(types, t)
		}
	}
	return append(types, protocol.RepoBundle)
}

func (s *Server) limits() api.Limits {
	l := s.Service.Limits
	return api.Limits{
		Tasks: l.MaxTasks, FilesPerTask: l.MaxFilesPerTask, TextBytes: l.MaxTextBytes, TotalBytes: l.MaxTotalBytes, BundleBytes: s.MaxBundle,
		MessageChars: protocol.MaxMessageRunes, TitleChars: protocol.MaxTitle, NotesChars: protocol.MaxNotes,
		ReviewNoteChars: protocol.MinReviewNote, PageRows: protocol.MaxPage,
	}
}

func (s *Server) appSubmissions(c *call) error {
	rows, next, err := s.submissions(c)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, api.Submissions{Submissions: rows, Next: next})
}

// submissions reads the page of collections that a query asks for.
func (s *Server) submissions(c *call) ([]api.Submission, *string, error) {
	page, err := c.page()
	if err != nil {
		return nil, nil, err
	}
	f := protocol.CollectionFilter{Challenge: c.query("challenge"), Track: c.query("track"), Author: c.query("author")}
	entries, next, err := s.Service.Entries(c.ctx(), f, page)
	if err != nil {
		return nil, nil, err
	}
	rows := make([]api.Submission, 0, len(entries))
	for _, e := range entries {
		rows = append(rows, api.SubmissionFrom(e.Collection, e.Tally, e.Row))
	}
	return rows, c.next(next), nil
}

func (s *Server) appSubmission(c *call) error {
	p, err := s.Service.CollectionPage(c.ctx(), c.param("env"))
	if err != nil {
		return err
	}
	out := api.SubmissionPage{
		Submission: api.SubmissionFrom(p.Entry.Collection, p.Entry.Tally, p.Entry.Row), Environment: api.EnvironmentFrom(p.Collection),
		Runs: []api.Run{}, Standings: []api.StandingRow{}, PostTrain: p.Commands, NoOracle: p.NoOracle, Simulated: s.Version.Simulated,
	}
	if p.Verdict != nil {
		out.Verdict = api.VerdictFrom(*p.Verdict)
	}
	if out.Forecast, err = s.Service.Forecast(c.ctx(), c.who, p.Collection.TargetChallenge, p.Collection.ID); err != nil {
		return err
	}
	for _, r := range p.Runs {
		run := s.run(r, c.who)
		if result, ok := p.Results[r.ID]; ok {
			res := api.ResultFrom(result, c.who, run.Simulated)
			run.Result = &res
		}
		out.Runs = append(out.Runs, run)
	}
	for _, b := range p.Rows {
		out.Standings = append(out.Standings, api.StandingRow{ChallengeID: b.Challenge, Row: b.Rows[0]})
	}
	return c.answer(http.StatusOK, out)
}

func (s *Server) appRun(c *call) error {
	p, err := s.Service.RunPage(c.ctx(), c.param("run"))
	if err != nil {
		return err
	}
	out := api.AppRun{
		Run: s.run(p.Run, c.who), Timeline: api.TimelineFrom(p.Run), Standing: p.Row, Others: []api.RunLine{},
		Submission: api.SubmissionFrom(p.Entry.Collection, p.Entry.Tally, p.Entry.Row),
	}
	if p.Result != nil {
		r := api.ResultFrom(*p.Result, c.who, out.Run.Simulated)
		out.Run.Result = &r
	}
	if out.Run.LastLines, err = s.Service.LastLines(c.ctx(), c.who, p.Run); err != nil {
		return err
	}
	if out.Run.Forecast, err = s.Service.RunForecast(c.ctx(), c.who, p.Run); err != nil {
		return err
	}
	if p.Cause.Sentence != "" {
		out.Explanation = &api.Explanation{Sentence: p.Cause.Sentence, Advice: p.Cause.Advice}
	}
	for _, r := range p.Others {
		out.Others = append(out.Others, api.RunLineFrom(r))
	}
	return c.answer(http.StatusOK, out)
}

func (s *Server) runMetrics(c *call) error {
	challenge := c.query("challenge")
	m, err := s.Service.Metrics(c.ctx(), challenge)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, api.RunMetrics{ChallengeID: api.Optional(challenge), Metrics: m, Simulated: s.Version.Simulated})
}
