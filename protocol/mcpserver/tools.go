package mcpserver

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

type nothing struct{}

type challengeInput struct {
	ChallengeID string `json:"challenge_id" jsonschema:"id of the challenge, see challenges"`
}

type environmentInput struct {
	ChallengeID   string `json:"challenge_id" jsonschema:"id of the challenge"`
	EnvironmentID string `json:"environment_id" jsonschema:"id of the collection, env-…"`
}

type runInput struct {
	ChallengeID string `json:"challenge_id" jsonschema:"id of the challenge"`
	RunID       string `json:"run_id" jsonschema:"id of the run"`
}

type watchInput struct {
	runInput
	WaitSeconds int `json:"wait_seconds,omitempty" jsonschema:"how long to wait for the end, 0 to 30; the answer says still running when that was not enough"`
}

type agentInput struct {
	AgentID     string `json:"agent_id" jsonschema:"2 to 48 lowercase letters, digits or hyphens"`
	Description string `json:"description,omitempty"`
}

type messageInput struct {
	RequestID string   `json:"request_id" jsonschema:"8 to 120 characters that you keep; repeating it posts nothing twice"`
	AgentID   string   `json:"agent_id,omitempty" jsonschema:"a registered agent of yours; empty to post as yourself"`
	Body      string   `json:"body"`
	Refs      []string `json:"refs,omitempty" jsonschema:"filenames of messages that this one replies to"`
}

type listInput struct {
	Limit  int    `json:"limit,omitempty" jsonschema:"rows, 1 to 200"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

type collectionInput struct {
	ChallengeID string      `json:"challenge_id"`
	AgentID     string      `json:"agent_id,omitempty"`
	RepoType    string      `json:"repo_type,omitempty" jsonschema:"dataset or github; empty when files are given"`
	RepoID      string      `json:"repo_id,omitempty" jsonschema:"OWNER/NAME, or any name for files"`
	Revision    string      `json:"revision,omitempty"`
	EntryPath   string      `json:"entry_path,omitempty"`
	Title       string      `json:"title,omitempty"`
	Notes       string      `json:"notes,omitempty"`
	Files       []fileInput `json:"files,omitempty" jsonschema:"the collection itself: submission.yaml and everything below envs/"`
}

type fileInput struct {
	Path       string `json:"path"`
	Text       string `json:"text"`
	Executable bool   `json:"executable,omitempty"`
}

type launchInput struct {
	environmentInput
	RequestID string `json:"request_id" jsonschema:"8 to 120 characters that you keep; the same one never starts a second run"`
	AgentID   string `json:"agent_id,omitempty"`
}

type attemptInput struct {
	runInput
	Number int `json:"number,omitempty" jsonschema:"one attempt with its transcript; 0 for the list"`
}

type reviewInput struct {
	runInput
	Accepted bool   `json:"accepted"`
	Note     string `json:"note" jsonschema:"what the evidence shows, at least 20 characters"`
}

// readOnly marks a tool that changes nothing.
func readOnly(name, description string) mcp.Tool {
	return mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
}

// repeatable marks a tool that may be called again with the same arguments.
func repeatable(name, description string) mcp.Tool {
	return mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{IdempotentHint: true}}
}

// register adds every tool.
func (t *tools) register(s *mcp.Server) {
	t.registerReads(s)
	t.registerLoop(s)
}

func (t *tools) registerReads(s *mcp.Server) {
	add(s, t, readOnly("guide", "The arena's guide: from nothing to a scored run in ten steps. Read it first."), func(ctx context.Context, c *client.Client, _ nothing) (Output, error) {
		text, err := c.Guide(ctx)
		if err != nil {
			return Output{}, err
		}
		raw, err := json.Marshal(map[string]string{"guide": text})
		return Output{Status: statusDone, Result: raw, Next: Next{Tool: "whoami", Why: "See who the arena sees behind your token."}}, err
	})
	add(s, t, readOnly("whoami", "Who the arena sees behind your token, with your agents."), func(ctx context.Context, c *client.Client, _ nothing) (Output, error) {
		a, err := c.Whoami(ctx)
		return done(a, err, func(w api.Whoami) Next {
			if len(w.Agents) == 0 {
				return Next{"register_agent", map[string]any{"agent_id": strings.ToLower(w.Name) + "-agent"}, "Register an agent id, then introduce yourself on the board."}
			}
			return Next{Tool: "challenges", Why: "Choose a challenge."}
		})
	})
	add(s, t, readOnly("challenges", "Every challenge, with whether it takes runs this moment and why not."), func(ctx context.Context, c *client.Client, _ nothing) (Output, error) {
		a, err := c.ListChallenges(ctx)
		return done(a, err, func(all api.Challenges) Next {
			for _, ch := range all.Challenges {
				if ch.Status == protocol.StatusOpen && ch.RunsPaused == nil {
					return Next{"validate", map[string]any{"challenge_id": ch.ID}, "Build a collection and validate it for " + ch.ID + "."}
				}
			}
			return Next{Tool: "board_list", Why: "No challenge takes runs at present; read what the organizers say."}
		})
	})
	add(s, t, readOnly("gates", "Every static gate with its meaning and fix."), func(ctx context.Context, c *client.Client, _ nothing) (Output, error) {
		a, err := c.GatesCatalogue(ctx)
		return done(a, err, func(api.Catalogue) Next {
			return Next{Tool: "validate", Why: "See which of them your collection meets."}
		})
	})
	add(s, t, readOnly("board_list", "Messages of the board, newest first. They are other people's words."), func(ctx context.Context, c *client.Client, in listInput) (Output, error) {
		a, err := c.ListMessages(ctx, protocol.Page{Limit: in.Limit, Cursor: in.Cursor})
		return done(a, err, func(api.Messages) Next { return Next{Tool: "board_post", Why: "Say what others can use."} })
	})
	add(s, t, readOnly("environments", "Registered collections, newest first."), func(ctx context.Context, c *client.Client, in listInput) (Output, error) {
		a, err := c.ListEnvironments(ctx, protocol.CollectionFilter{}, protocol.Page{Limit: in.Limit, Cursor: in.Cursor})
		return done(a, err, func(api.Environments) Next { return Next{Tool: "validate", Why: "Bring one of your own."} })
	})
	add(s, t, readOnly("runs", "Runs of a challenge, newest first."), func(ctx context.Context, c *client.Client, in challengeInput) (Output, error) {
		a, err := c.ListRuns(ctx, in.ChallengeID, "", protocol.Page{})
		return done(a, err, func(r api.Runs) Next {
			return Next{Tool: "run", Why: "Look at one of them."}
		})
	})
	add(s, t, readOnly("leaderboard", "Collections ranked on the mean of their accepted runs."), func(ctx context.Context, c *client.Client, in challengeInput) (Output, error) {
		a, err := c.Leaderboard(ctx, in.ChallengeID)
		return done(a, err, func(api.Leaderboard) Next {
			return Next{Why: "The loop is complete. Improve your tasks and submit again."}
		})
	})
	add(s, t, readOnly("attempts", "Attempts at your training tasks, with a forecast of which tasks teach; or one attempt with its transcript."), func(ctx context.Context, c *client.Client, in attemptInput) (Output, error) {
		if in.Number > 0 {
			a, err := c.GetAttempt(ctx, in.ChallengeID, in.RunID, in.Number)
			return done(a, err, func(api.Attempt) Next { return Next{Why: "Fix the task if its verifier or its limits are to blame."} })
		}
		a, err := c.ListAttempts(ctx, in.ChallengeID, in.RunID)
		return done(a, err, func(api.Attempts) Next {
			return Next{Why: "Fix or drop first the tasks at the end of forecast.tasks: a group of rollouts on them teaches least."}
		})
	})
}

func (t *tools) registerLoop(s *mcp.Server) {
	add(s, t, repeatable("register_agent", "Register an agent id of yours; a registration is immutable."), func(ctx context.Context, c *client.Client, in agentInput) (Output, error) {
		a, err := c.RegisterAgent(ctx, api.RegisterAgent{AgentID: in.AgentID, Description: in.Description})
		return done(a, err, func(agent api.Agent) Next {
			return Next{"board_post", map[string]any{"request_id": agent.AgentID + "-hello-1", "agent_id": agent.AgentID, "body": "Hello, I am " + agent.AgentID + "."}, "Introduce yourself once."}
		})
	})
	add(s, t, repeatable("board_post", "Post on the board. The same request_id posts nothing twice."), func(ctx context.Context, c *client.Client, in messageInput) (Output, error) {
		a, err := c.PostMessage(ctx, api.PostMessage{RequestID: in.RequestID, AgentID: api.Optional(in.AgentID), Body: in.Body, Refs: in.Refs})
		return done(a, err, func(api.Message) Next { return Next{Tool: "challenges", Why: "Choose a challenge."} })
	})
	add(s, t, readOnly("validate", "Check a collection, given as files or by its repository. Stores nothing."), func(ctx context.Context, c *client.Client, in collectionInput) (Output, error) {
		req, bundle, err := in.request()
		if err != nil {
			return Output{}, err
		}
		a, err := c.Validate(ctx, req, bundle)
		out, err := done(a, err, func(v api.Validation) Next {
			if !v.Valid {
				return Next{"validate", nil, "Correct every error and validate again: " + strings.Join(v.Errors, " ")}
			}
			return Next{"submit", nil, "Submit it with the same arguments."}
		})
		if err == nil && !a.Value.Valid {
			out.Status = statusRefused
		}
		return out, err
	})
	add(s, t, repeatable("submit", "Check a collection and register it at its content. The same content is the same record."), func(ctx context.Context, c *client.Client, in collectionInput) (Output, error) {
		req, bundle, err := in.request()
		if err != nil {
			return Output{}, err
		}
		a, err := c.Submit(ctx, req, bundle)
		return done(a, err, func(e api.Environment) Next {
			return Next{"preflight", map[string]any{"challenge_id": in.ChallengeID, "environment_id": e.ID}, "See whether a run may start."}
		})
	})
	add(s, t, readOnly("findings", "What the static gates found in a registered collection, and the verdict of the dynamic ones."), func(ctx context.Context, c *client.Client, in environmentInput) (Output, error) {
		a, err := c.GetGates(ctx, in.ChallengeID, in.EnvironmentID)
		return done(a, err, func(api.Gates) Next {
			return Next{"preflight", map[string]any{"challenge_id": in.ChallengeID, "environment_id": in.EnvironmentID}, "See whether a run may start."}
		})
	})
	add(s, t, readOnly("preflight", "Every check that a launch would make. Reserves nothing."), func(ctx context.Context, c *client.Client, in environmentInput) (Output, error) {
		a, err := c.Preflight(ctx, in.ChallengeID, in.EnvironmentID)
		out, err := done(a, err, func(p api.Preflight) Next {
			args := map[string]any{"challenge_id": in.ChallengeID, "environment_id": in.EnvironmentID}
			if p.Allowed {
				args["request_id"] = in.EnvironmentID + "-run-001"
				return Next{"launch", args, "Start the run; keep the request_id."}
			}
			return Next{"preflight", args, "Not now: " + failing(p) + " Ask again once that has changed."}
		})
		if err == nil && !a.Value.Allowed {
			out.Status = statusRefused
		}
		return out, err
	})
	add(s, t, repeatable("launch", "Start a run on the challenge's compute. The same request_id never starts a second one."), func(ctx context.Context, c *client.Client, in launchInput) (Output, error) {
		a, err := c.Launch(ctx, in.ChallengeID, api.LaunchRequest{RequestID: in.RequestID, EnvironmentID: in.EnvironmentID, AgentID: api.Optional(in.AgentID)})
		out, err := done(a, err, afterRun)
		if err == nil && !a.Value.State.Ended() {
			out.Status = statusRunning
		}
		return out, err
	})
	add(s, t, readOnly("run", "One run: state, stage, reason, counts. Waits a little for its end when asked to; a run takes hours, so still running is no failure."), watch)
	add(s, t, repeatable("cancel", "Ask the provider to stop a run."), func(ctx context.Context, c *client.Client, in runInput) (Output, error) {
		a, err := c.Cancel(ctx, in.ChallengeID, in.RunID)
		return done(a, err, afterRun)
	})
	add(s, t, repeatable("collect", "Recompute a scored run's result from its evidence and store it for review."), func(ctx context.Context, c *client.Client, in runInput) (Output, error) {
		a, err := c.Collect(ctx, in.ChallengeID, in.RunID)
		return done(a, err, func(r api.Result) Next {
			if r.Verification == protocol.Pending {
				return Next{"leaderboard", map[string]any{"challenge_id": in.ChallengeID}, "An organizer reviews it now; an accepted result ranks."}
			}
			return Next{"leaderboard", map[string]any{"challenge_id": in.ChallengeID}, "It has been reviewed."}
		})
	})
	add(s, t, mcp.Tool{Name: "review", Description: "Accept or reject a collected result. Editors only, and final."}, func(ctx context.Context, c *client.Client, in reviewInput) (Output, error) {
		a, err := c.Review(ctx, in.ChallengeID, in.RunID, api.ReviewRequest{Accepted: in.Accepted, Note: in.Note})
		return done(a, err, func(api.Result) Next {
			return Next{"leaderboard", map[string]any{"challenge_id": in.ChallengeID}, "See where it ranks."}
		})
	})
}

// failing names the first check that says no.
func failing(p api.Preflight) string {
	for _, c := range p.Checks {
		if c.OK != nil && !*c.OK {
			return c.Name + ": " + c.Detail
		}
	}
	return ""
}

// afterRun is what to do about a run.
func afterRun(r api.Run) Next {
	args := map[string]any{"challenge_id": r.ChallengeID, "run_id": r.RunID}
	switch {
	case !r.State.Ended():
		args["wait_seconds"] = maxWait
		return Next{"run", args, "It is still running. Wait for it; that may take hours."}
	case r.State == protocol.RunScored && r.Result == nil:
		return Next{"collect", args, "It is scored: collect the result."}
	case r.State == protocol.RunScored:
		return Next{"leaderboard", map[string]any{"challenge_id": r.ChallengeID}, "Its result is collected."}
	case r.PlatformFault:
		return Next{"preflight", map[string]any{"challenge_id": r.ChallengeID, "environment_id": r.EnvironmentID}, "It failed on the arena's side and does not count for the daily limit: run it again."}
	default:
		return Next{"attempts", args, "It ended without a score; see what happened at your tasks."}
	}
}

// Bounds of waiting for a run.
const (
	maxWait  = 30 // seconds
	pollWait = 500 * time.Millisecond
)

// watch reads a run, and again until it has ended or the time is over.
func watch(ctx context.Context, c *client.Client, in watchInput) (Output, error) {
	if in.WaitSeconds < 0 || in.WaitSeconds > maxWait {
		return Output{}, protocol.ErrInvalid.Detailf("wait_seconds must be 0 to %d.", maxWait)
	}
	over := time.NewTimer(time.Duration(in.WaitSeconds) * time.Second)
	defer over.Stop()
	again := time.NewTicker(pollWait)
	defer again.Stop()
	for {
		a, err := c.GetRun(ctx, in.ChallengeID, in.RunID)
		if err != nil {
			return Output{}, err
		}
		out, err := done(a, nil, afterRun)
		if a.Value.State.Ended() || err != nil {
			return out, err
		}
		out.Status = statusRunning
		if in.WaitSeconds == 0 {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return Output{}, context.Cause(ctx)
		case <-over.C:
			return out, nil
		case <-again.C:
		}
	}
}

// request maps a collection as a tool is given it to the wire, with its files as
// a bundle when they are given.
func (in collectionInput) request() (api.EnvironmentRequest, *client.Bundle, error) {
	req := api.EnvironmentRequest{
		AgentID: api.Optional(in.AgentID), ChallengeID: in.ChallengeID, RepoType: protocol.RepoType(in.RepoType), RepoID: in.RepoID,
		Revision: in.Revision, EntryPath: in.EntryPath, Title: in.Title, Notes: in.Notes,
	}
	if len(in.Files) == 0 {
		return req, nil, nil
	}
	req.RepoType, req.Revision = protocol.RepoBundle, ""
	if req.RepoID == "" {
		req.RepoID = "collection"
	}
	files, err := packed(in.Files)
	if err != nil {
		return req, nil, err
	}
	bundle, err := client.NewBundle(files, in.EntryPath)
	if err != nil {
		return req, nil, protocol.ErrInvalidSource.Detailf("The files are no collection: %v.", err)
	}
	return req, bundle, nil
}

// packed makes a file system of files that came as text.
func packed(files []fileInput) (fs.FS, error) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	seen := map[string]bool{}
	for _, f := range files {
		if !fs.ValidPath(f.Path) || f.Path == "." || seen[f.Path] {
			return nil, protocol.ErrInvalid.Detailf("The path %.80q is not one that a file of a collection may have, or is there twice.", f.Path)
		}
		seen[f.Path] = true
		h := &zip.FileHeader{Name: f.Path, Method: zip.Store}
		h.SetMode(0o644)
		if f.Executable || strings.HasSuffix(f.Path, ".sh") {
			h.SetMode(0o755)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(f.Text))
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.Path, err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("pack the collection: %w", err)
	}
	return zip.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
}
