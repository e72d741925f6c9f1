package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/posttrainarena/arena/protocol/compose"
	"github.com/posttrainarena/arena/protocol/jobs/jobdir"
	"github.com/posttrainarena/arena/protocol/relay"
)

// relayCmd groups what jobs do with the relay.
type relayCmd struct {
	Connect relayConnectCmd `cmd:"" help:"In a job: carry the arena's calls to the model that listens here, until the run ends."`
}

// relayConnectCmd is the job's end of the tunnel. Its secrets come by environment,
// because everybody may read the arguments of a process.
type relayConnectCmd struct {
	Run_   string `name:"run" required:"" placeholder:"RUN" help:"The run's id."`
	To     string `required:"" placeholder:"URL" help:"Where the model listens, such as http://127.0.0.1:8000."`
	KeyEnv string `name:"key-env" placeholder:"NAME" default:"ARENA_MODEL_KEY" help:"The variable that holds the bearer token of the model; unset when it wants none."`
}

// Run connects and stays connected.
func (cmd *relayConnectCmd) Run(ctx context.Context, env *environ) error {
	secret := env.Getenv(compose.SecretRelayJob)
	if file := env.Getenv(compose.SecretRelayJob + jobdir.EnvFile); secret == "" && file != "" {
		text, err := readTokenFile(file)
		if err != nil {
			return fmt.Errorf("read the relay's secret, which %s%s names: %w", compose.SecretRelayJob, jobdir.EnvFile, err)
		}
		secret = strings.TrimSpace(text)
	}
	if secret == "" {
		return usagef("neither %[1]s nor %[1]s%[2]s is set, of which the arena gives one to the job of a run", compose.SecretRelayJob, jobdir.EnvFile)
	}
	log := env.logger(false)
	err := relay.Job{
		Arena: env.baseURL(), Run: cmd.Run_, Secret: secret, JobID: env.Getenv("JOB_ID"), To: cmd.To, Key: env.Getenv(cmd.KeyEnv),
		UserAgent: "arena/" + build().Version, Log: log, Sleep: env.Sleep,
	}.Serve(ctx)
	if errors.Is(err, relay.ErrOver) {
		return &advised{err, []string{"The run may have ended, or its secrets belong to another job of it."}}
	}
	return err
}
