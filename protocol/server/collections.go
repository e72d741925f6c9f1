package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/arena"
	"github.com/posttrainarena/arena/protocol/hub"
)

func (s *Server) validate(c *call) error {
	return c.withSubmission(func(sub arena.Submission) error {
		v, err := s.Service.Validate(c.ctx(), c.who, sub)
		if err != nil {
			return err
		}
		out := validationFrom(v)
		out.PerHour = s.Service.HourLimits(c.who)
		return c.answer(http.StatusOK, out)
	})
}

func (s *Server) submit(c *call) error {
	return c.withSubmission(func(sub arena.Submission) error {
		col, existing, err := s.Service.Submit(c.ctx(), c.who, c.by(), sub)
		if err != nil {
			return err
		}
		out := api.EnvironmentFrom(col)
		used := s.Service.HourLimits(c.who)
		out.PerHour, out.Existing = &used, existing
		return c.created(existing, out)
	})
}

// validationFrom maps a validation to the wire.
func validationFrom(v arena.Validation) api.Validation {
	col := v.Collection
	return api.Validation{
		Valid: v.Valid(), Errors: append([]string{}, v.Errors...), Warnings: append([]string{}, col.Warnings...), EnvironmentID: col.ID,
		ChallengeID: col.Track, TargetChallengeID: api.Optional(col.TargetChallenge), RepoType: col.Source.RepoType, RepoID: col.Source.RepoID,
		Revision: col.Source.Revision, EntryPath: col.Source.EntryPath, TeamName: col.TeamName, TaskCount: col.TaskCount,
		EligibleTasks: v.Report.Summary.Eligible, QualityGates: api.QualityGates{Static: v.Report},
	}
}

// withSubmission reads the request of validate and submit: JSON alone, or
// multipart with the JSON in the part request and a tar stream in the part
// bundle, in this order. The bundle lives until do returns.
func (c *call) withSubmission(do func(arena.Submission) error) error {
	kind, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		var req api.EnvironmentRequest
		if err := c.body(&req); err != nil {
			return err
		}
		return do(c.submission(req, nil))
	}
	var req api.EnvironmentRequest
	var upload *hub.Snapshot
	err = c.receive(readBundle, func() error {
		req, upload, err = c.readBundle(multipart.NewReader(http.MaxBytesReader(c.w, c.r.Body, c.maxUpload()), params["boundary"]))
		return err
	})
	defer func() { _ = upload.Release() }()
	if err != nil {
		return err
	}
	return do(c.submission(req, upload))
}

// submission is what the request asks to validate or register.
func (c *call) submission(req api.EnvironmentRequest, upload *hub.Snapshot) arena.Submission {
	sub := arena.Submission{Challenge: req.ChallengeID, Source: req.Source(), Title: req.Title, Notes: req.Notes, Upload: upload, RequestID: c.requestID}
	if req.AgentID != nil {
		sub.AgentID = *req.AgentID
	}
	return sub
}

// maxUpload is the most bytes of a whole upload: the files, what tar adds to
// each, and the JSON.
func (c *call) maxUpload() int64 { return c.server.MaxBundle + api.BundleOverhead }

// readBundle reads the two parts of an upload.
func (c *call) readBundle(parts *multipart.Reader) (api.EnvironmentRequest, *hub.Snapshot, error) {
	var req api.EnvironmentRequest
	part, err := c.nextPart(parts, "request")
	if err != nil {
		return req, nil, err
	}
	limit := c.server.MaxJSON
	raw, err := io.ReadAll(io.LimitReader(part, limit+1))
	if err != nil {
		return req, nil, bodyError(err, c.maxUpload())
	}
	if int64(len(raw)) > limit {
		return req, nil, bodyError(&http.MaxBytesError{Limit: limit}, limit)
	}
	if err := c.decode(raw, &req); err != nil {
		return req, nil, err
	}
	if req.RepoType != protocol.RepoBundle {
		return req, nil, protocol.ErrInvalid.Detailf("An uploaded directory has repo_type bundle, not %s.", req.RepoType).
			WithFields(protocol.FieldError{Field: "repo_type", Message: "must be bundle when a bundle is uploaded"})
	}
	if part, err = c.nextPart(parts, "bundle"); err != nil {
		return req, nil, err
	}
	snapshot, err := c.server.Receive(context.WithoutCancel(c.ctx()), part)
	if err == nil {
		return req, snapshot, nil
	}
	_, disk := errors.AsType[*fs.PathError](err) // the arena's own: not the sender's fault
	if protocol.AsError(err).Kind == protocol.KindInternal && !disk {
		err = bodyError(err, c.maxUpload())
	}
	return req, nil, err
}

func (c *call) nextPart(parts *multipart.Reader, name string) (*multipart.Part, error) {
	part, err := parts.NextPart()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, bodyError(err, c.maxUpload())
	}
	if err != nil {
		return nil, protocol.ErrMalformed.Detailf("The multipart body has no part %q: send the JSON in the part request, then the tar stream in the part bundle.", name).Because(err)
	}
	if part.FormName() != name {
		return nil, protocol.ErrMalformed.Detailf("The multipart body has the part %q where %q belongs: send the JSON in the part request, then the tar stream in the part bundle.", part.FormName(), name)
	}
	return part, nil
}

func (s *Server) listEnvironments(c *call) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	f := protocol.CollectionFilter{Challenge: c.query("challenge"), Track: c.query("track"), Author: c.query("author")}
	cols, next, err := s.Service.Collections(c.ctx(), f, page)
	if err != nil {
		return err
	}
	out := api.Environments{Environments: []api.Environment{}, Next: c.next(next)}
	for _, col := range cols {
		out.Environments = append(out.Environments, api.EnvironmentFrom(col))
	}
	return c.answer(http.StatusOK, out)
}

func (s *Server) getEnvironment(c *call) error {
	col, err := s.Service.Collection(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, api.EnvironmentFrom(col))
}

func (s *Server) getGates(c *call) error {
	version, err := c.integer("version", 0, 1, 1<<31)
	if err != nil {
		return err
	}
	col, verdicts, err := s.Service.Verdicts(c.ctx(), c.param("id"), c.param("env"))
	if err != nil {
		return err
	}
	out := api.Gates{EnvironmentID: col.ID, ChallengeID: c.param("id"), Static: col.Static, History: []api.VerdictVersion{}}
	for _, v := range verdicts {
		if version == 0 && out.Verdict == nil || int64(v.Version) == version {
			out.Verdict = api.VerdictFrom(v)
		}
		out.History = append(out.History, api.VerdictVersionFrom(v))
	}
	if version != 0 && out.Verdict == nil {
		return protocol.ErrNotFound.Detailf("The verdict on %s has no version %d.", col.ID, version)
	}
	return c.answer(http.StatusOK, out)
}

func (s *Server) planGates(c *call) error {
	var req api.GatePlanRequest
	if err := c.body(&req); err != nil {
		return err
	}
	p, err := s.Service.PlanGates(c.ctx(), c.who, c.param("id"), c.param("env"), arena.PlanOptions{
		ControlsReruns: req.ControlsReruns, BandAttempts: req.BandAttempts, RequireOracle: req.RequireOracle,
	})
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, p)
}

func (s *Server) attachGates(c *call) error {
	var req api.AttachGates
	if err := c.body(&req); err != nil {
		return err
	}
	v, err := s.Service.Attach(c.ctx(), c.who, c.by(), c.param("id"), c.param("env"), req.Results, req.DryRun)
	if err != nil {
		return err
	}
	return c.created(req.DryRun, api.AttachedFrom(v, req.DryRun))
}
