package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/protocol/engine"
	"github.com/posttrainarena/arena/protocol/episode"
	"github.com/posttrainarena/arena/protocol/episode/check"
)

// maxEpisodeFile bounds a solution and a probe file: a server takes messages of
// 16 MiB, and the text grows on its way into one.
const maxEpisodeFile = 4 << 20

// episodeCmd groups what there is to do with episodes.
type episodeCmd struct {
	Serve episodeServeCmd `cmd:"" help:"Serve episodes of the task whose image this runs in; the image's entry point."`
	Check episodeCheckCmd `cmd:"" help:"Play episodes against a task's image and check that it keeps every rule."`
}

type episodeServeCmd struct {
	Listen string `default:"0.0.0.0:8000" placeholder:"ADDRESS" help:"Where to listen; ${default} otherwise."`
	Home   string `default:"${episode_home}" placeholder:"DIR" help:"Where the image keeps the instance file; ${default} otherwise."`
}

// Help says what an image needs.
func (*episodeServeCmd) Help() string {
	return "The image holds this binary (built with CGO_ENABLED=0), instance.json and the hidden tests in " + episode.Home + ", and ends with\n\n" +
		"  EXPOSE 8000\n  ENTRYPOINT [\"" + episode.Home + "/arena\", \"episode\", \"serve\"]\n\n" +
		"It starts as root, plays as uid 2000, and holds one episode at a time."
}

// Run serves until it is interrupted.
func (cmd *episodeServeCmd) Run(ctx context.Context, env *environ) error {
	l, err := net.Listen("tcp", cmd.Listen)
	if err != nil {
		return usagef("--listen %s: %w", cmd.Listen, err)
	}
	log := slog.New(slog.NewTextHandler(env.Stderr, nil))
	image := slices.DeleteFunc(env.Environ(), func(v string) bool { return strings.HasPrefix(v, "ARENA_") })
	return episode.Serve(ctx, l, cmd.Home, image, log)
}

type episodeCheckCmd struct {
	Image       string `arg:"" help:"The image, by name or id; with --url the name in the report only."`
	TaskID      string `arg:"" help:"The id of the task that it holds."`
	Solution    string `type:"existingfile" placeholder:"FILE" help:"A Python script that solves the task, sent through the agent's shell; it never enters the image."`
	DatasetType string `enum:"opensource-code,terminal_bench" default:"opensource-code" help:"opensource-code or terminal_bench."`
	Probes      string `type:"existingfile" placeholder:"FILE" help:"A TOML table of what to probe in which task; see the help's end."`
	Output      string `required:"" placeholder:"FILE" help:"Where to write the report, JSON."`
}

// Help says what a probe file looks like, and what --url is here.
func (*episodeCheckCmd) Help() string {
	return "With --url a server that is running already is checked, without what only its container shows. The engine is the one that DOCKER_HOST names.\n\n" +
		"A probe file:\n\n  [tasks.\"my-task\"]\n  module = \"/app/src/module.py\"   # broken, it must earn 0 (terminal_bench)\n\n" +
		"  [[tasks.\"my-task\".probe]]\n  label = \"empty_output_is_zero\"\n  command = \"true > /app/out.txt\"\n  reward = 0"
}

// Run makes the checks, writes the report and ends with 1 when one does not hold.
func (cmd *episodeCheckCmd) Run(ctx context.Context, env *environ) error {
	o, err := cmd.options(env)
	if err != nil {
		return err
	}
	if o.URL == "" {
		o.Engine, err = engine.Open(ctx, env.Getenv("DOCKER_HOST"))
		if errors.Is(err, engine.ErrAbsent) {
			return &advised{err, []string{"A server that is running already can be checked without an engine: --url http://127.0.0.1:8000"}}
		}
		if err != nil {
			return err
		}
		defer o.Engine.Close()
	}
	r, err := check.Run(ctx, o)
	if err != nil {
		r.Failed = stopped(r.Failed, err)
	}
	return errors.Join(err, cmd.report(env, r))
}

// stopped keeps the failure of a check; without one, what stopped the replay stands
// in the report.
func stopped(f *check.Failure, err error) *check.Failure {
	if f == nil {
		f = &check.Failure{Reason: err.Error()}
	}
	return f
}

func (cmd *episodeCheckCmd) options(env *environ) (check.Options, error) {
	o := check.Options{
		Image: cmd.Image, TaskID: cmd.TaskID, DatasetType: cmd.DatasetType, Now: env.Now, HTTP: &http.Client{Transport: env.Transport},
		Tell: func(label string) { env.say("%s", label) },
	}
	if env.URL != "" {
		if !strings.HasPrefix(env.URL, "http://") && !strings.HasPrefix(env.URL, "https://") {
			return o, usagef("--url %s: it begins with http:// or https://", env.URL)
		}
		o.Image, o.URL = "", env.URL
	}
	var err error
	if o.Probes, err = check.SeedProbes(); err != nil {
		return o, err
	}
	if cmd.Probes != "" {
		data, err := env.readUpTo(cmd.Probes, maxEpisodeFile)
		if err != nil {
			return o, err
		}
		own, err := check.ParseProbes(data)
		if err != nil {
			return o, usagef("--probes %s: %w", cmd.Probes, err)
		}
		maps.Copy(o.Probes, own)
	}
	if cmd.Solution != "" {
		if o.Solution, err = env.readUpTo(cmd.Solution, maxEpisodeFile); err != nil {
			return o, err
		}
	}
	return o, nil
}

// report writes the report to its file and one line to standard output.
func (cmd *episodeCheckCmd) report(env *environ, r check.Report) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(cmd.Output), 0o755); err != nil {
		return usagef("--output: %w", err)
	}
	if err := os.WriteFile(cmd.Output, append(data, '\n'), 0o644); err != nil {
		return usagef("--output: %w", err)
	}
	for _, s := range r.Skipped {
		env.say("skipped %s: %s", s.Check, s.Reason)
	}
	line, err := json.Marshal(map[string]any{"task_id": r.TaskID, "passed": r.Passed, "checks": len(r.Checks)})
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	if err := env.answer(line); err != nil {
		return err
	}
	if r.Failed != nil && r.Failed.Check != "" {
		env.say("failed %s: %s", r.Failed.Check, r.Failed.Reason)
		return &verdict{code: exitError, text: r.Failed.Check}
	}
	return nil
}
