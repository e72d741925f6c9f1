package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/posttrainarena/arena/fixture"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

// demoCmd shows the whole loop: a temporary arena, a small collection, a played
// run, and every step through the public API, as an agent and an organizer
// would take it.
type demoCmd struct {
	Exit    bool    `help:"Stop after the loop instead of serving on."`
	Data    string  `placeholder:"DIR" help:"Keep the arena in this directory; a temporary one otherwise."`
	Listen  string  `placeholder:"HOST:PORT" default:"127.0.0.1:0" help:"Address to listen on; a free port by default."`
	Speed   float64 `placeholder:"N" default:"600" help:"Simulated seconds in a real one."`
	Verbose bool    `help:"Show the server's log."`
}

func (demoCmd) speaksJSON() bool { return true }

// Run walks the loop, prints its JSON, and serves on unless --exit was given.
func (cmd *demoCmd) Run(ctx context.Context, env *environ) error {
	data := cmd.Data
	if data == "" {
		dir, err := os.MkdirTemp("", "arena-demo-")
		if err != nil {
			return fmt.Errorf("make a directory for the demo: %w", err)
		}
		defer os.RemoveAll(dir)
		data = dir
	}
	log := quiet()
	if cmd.Verbose {
		log = env.logger(true)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	n, err := openNode(ctx, nodeOptions{Data: data, Listen: cmd.Listen, Speed: cmd.Speed, Log: log, Now: env.Now, Getenv: env.Getenv})
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- n.run(ctx) }()
	loopErr := cmd.walk(ctx, env, n)
	if loopErr == nil && !cmd.Exit {
		cmd.invite(env, n, data)
		<-ctx.Done()
	}
	stop()
	return errors.Join(loopErr, <-served)
}

// demoDocument is the demo's one JSON document: what each step answered.
type demoDocument struct {
	URL         string          `json:"url"`
	Simulated   bool            `json:"simulated"`
	Validation  json.RawMessage `json:"validation"`
	Environment json.RawMessage `json:"environment"`
	Preflight   json.RawMessage `json:"preflight"`
	Run         json.RawMessage `json:"run"`
	Result      json.RawMessage `json:"result"`
	Review      json.RawMessage `json:"review"`
	Leaderboard json.RawMessage `json:"leaderboard"`
}

// demo is one walk through the loop.
type demo struct {
	env       *environ
	started   time.Time
	author    *client.Client
	organizer *client.Client
	challenge string
	doc       demoDocument
}

// demoAuthor and demoOrganizer are the two people of the demo.
const (
	demoAuthor    = "demo-author"
	demoOrganizer = "demo-organizer"
)

// walk takes every step of the loop and prints the document.
func (cmd *demoCmd) walk(ctx context.Context, env *environ, n *node) error {
	d := &demo{env: env, started: env.Now(), challenge: openChallenge(n.service.Challenges)}
	d.doc.URL, d.doc.Simulated = n.server.BaseURL, n.service.Simulated()
	if d.challenge == "" {
		return errors.New("no challenge is open and takes runs, so there is nothing to show; see arena config check")
	}
	var err error
	if d.author, err = env.join(ctx, n, demoAuthor, false); err != nil {
		return err
	}
	if d.organizer, err = env.join(ctx, n, demoOrganizer, true); err != nil {
		return err
	}
	d.step("arena", "a whole arena is up at %s; its runs are simulated, nothing is trained and nothing is spent", n.server.BaseURL)
	environment, err := d.submit(ctx)
	if err != nil {
		return err
	}
	run, err := d.launch(ctx, environment)
	if err != nil {
		return err
	}
	if err := d.watch(ctx, run); err != nil {
		return err
	}
	if err := d.judge(ctx, run); err != nil {
		return err
	}
	return env.document(d.doc)
}

// openChallenge is the first challenge that takes runs.
func openChallenge(all []protocol.Challenge) string {
	for _, c := range all {
		if c.AcceptsRuns() == nil {
			return c.ID
		}
	}
	return ""
}

// join makes an account and returns its client. The token never leaves the
// process.
func (env *environ) join(ctx context.Context, n *node, name string, editor bool) (*client.Client, error) {
	secret, err := issueToken(ctx, n.store, env.Now(), name, editor)
	if err != nil {
		return nil, err
	}
	token, err := client.NewToken(secret)
	if err != nil {
		return nil, err
	}
	return client.New(client.Options{BaseURL: "http://" + n.listener.Addr().String(), Token: token, Sleep: env.Sleep, UserAgent: "arena-demo"})
}

// step says what has just happened.
func (d *demo) step(name, format string, args ...any) {
	d.env.say("%6.1fs  %-11s %s", d.env.Now().Sub(d.started).Seconds(), name, fmt.Sprintf(format, args...))
}

func (d *demo) submit(ctx context.Context) (string, error) {
	files, err := fixture.Collection("sample")
	if err != nil {
		return "", err
	}
	bundle, err := client.NewBundle(files, "")
	if err != nil {
		return "", fmt.Errorf("read the sample collection: %w", err)
	}
	req := api.EnvironmentRequest{
		ChallengeID: d.challenge, RepoType: protocol.RepoBundle, RepoID: "sample-collection", Title: "Sample collection",
		Notes: "The small collection that ships with the arena.",
	}
	v, err := d.author.Validate(ctx, req, bundle)
	if err != nil {
		return "", fmt.Errorf("validate: %w", err)
	}
	d.doc.Validation = v.Raw
	d.step("validate", "%d tasks, %d eligible, %d warnings", v.Value.TaskCount, v.Value.EligibleTasks, len(v.Value.Warnings))
	e, err := d.author.Submit(ctx, req, bundle)
	if err != nil {
		return "", fmt.Errorf("submit: %w", err)
	}
	d.doc.Environment = e.Raw
	d.step("submit", "%s pinned at %.12s", e.Value.ID, e.Value.Revision)
	return e.Value.ID, nil
}

func (d *demo) launch(ctx context.Context, environment string) (string, error) {
	p, err := d.author.Preflight(ctx, d.challenge, environment)
	if err != nil {
		return "", fmt.Errorf("preflight: %w", err)
	}
	d.doc.Preflight = p.Raw
	if !p.Value.Allowed {
		for _, c := range p.Value.Checks {
			if c.OK == nil || !*c.OK {
				return "", fmt.Errorf("the preflight does not allow a run: %s: %s", c.Name, c.Detail)
			}
		}
	}
	d.step("preflight", "all %d checks hold; a run reserves $%s", len(p.Value.Checks), p.Value.MaxComputeUSD)
	r, err := d.author.Launch(ctx, d.challenge, api.LaunchRequest{RequestID: "demo-" + environment, EnvironmentID: environment})
	if err != nil {
		return "", fmt.Errorf("launch: %w", err)
	}
	d.step("launch", "%s is %s on %s", r.Value.RunID, r.Value.State, r.Value.Flavor)
	return r.Value.RunID, nil
}

// demoPoll is how often the demo looks at its run.
const demoPoll = 300 * time.Millisecond

// watch looks at the run until it has ended, saying each stage as it is reached.
func (d *demo) watch(ctx context.Context, run string) error {
	stages := -1
	for {
		r, err := d.author.GetRun(ctx, d.challenge, run)
		if err != nil {
			return fmt.Errorf("watch %s: %w", run, err)
		}
		for ; stages < len(r.Value.Stages)-1; stages++ {
			if stages >= 0 {
				d.stage(r.Value.Stages[stages])
			}
		}
		if r.Value.State.Ended() {
			d.doc.Run = r.Raw
			if len(r.Value.Stages) > 0 {
				d.stage(r.Value.Stages[len(r.Value.Stages)-1])
			}
			if r.Value.State != protocol.RunScored {
				return fmt.Errorf("the run ended as %s: %s", r.Value.State, deref(r.Value.Reason))
			}
			d.step("run", "%s; $%s of the reserved $%s were billed (simulated)", r.Value.State, r.Value.SettledUSD, r.Value.MaxComputeUSD)
			return nil
		}
		if err := d.env.Sleep(ctx, demoPoll); err != nil {
			return err
		}
	}
}

func (d *demo) stage(s protocol.StageProgress) {
	if s.Total == 0 {
		d.step(string(s.Stage), "done")
		return
	}
	d.step(string(s.Stage), "%d of %d passed, %d timed out, %d errors", s.Passed, s.Done, s.Timeouts, s.Errors)
}

func (d *demo) judge(ctx context.Context, run string) error {
	res, err := d.author.Collect(ctx, d.challenge, run)
	if err != nil {
		return fmt.Errorf("collect: %w", err)
	}
	d.doc.Result = res.Raw
	d.step("collect", "before %.1f%%, after %.1f%%: Δ = %+.2f ± %.2f pp, recomputed from %d tasks",
		100*res.Value.BaselinePassRate, 100*res.Value.AfterPassRate, res.Value.DeltaPP, res.Value.StderrPP, res.Value.NTasks)
	rev, err := d.organizer.Review(ctx, d.challenge, run, api.ReviewRequest{
		Accepted: true, Note: "Demo: coverage is complete and the recomputed pass rates agree with the report.",
	})
	if err != nil {
		return fmt.Errorf("review: %w", err)
	}
	d.doc.Review = rev.Raw
	d.step("review", "accepted by %s", demoOrganizer)
	board, err := d.author.Leaderboard(ctx, d.challenge)
	if err != nil {
		return fmt.Errorf("leaderboard: %w", err)
	}
	d.doc.Leaderboard = board.Raw
	for _, row := range board.Value.Rows {
		d.step("leaderboard", "#%d %s: %+.2f ± %.2f pp over %d run(s)", row.Rank, row.Collection, row.DeltaPP, row.StderrPP, row.VerifiedRuns)
	}
	return nil
}

// invite says what to try next. The organizer's token goes into a file that only
// this user can read, never onto the screen.
func (cmd *demoCmd) invite(env *environ, n *node, data string) {
	url := n.server.BaseURL
	env.say("")
	env.say("The arena goes on at %s. Try, in another terminal:", url)
	env.say("  export ARENA_URL=%s", url)
	env.say("  arena challenges")
	env.say("  arena leaderboard --challenge %s", openChallenge(n.service.Challenges))
	env.say("  export ARENA_TOKEN=$(arena token create --data %s --name you --editor)", argument(data))
	env.say("  arena whoami")
	env.say("  curl -s %s/api/discover", url)
	env.say("Stop with ctrl+c.%s", map[bool]string{true: " The arena's directory is then removed; --data DIR keeps it."}[cmd.Data == ""])
}
