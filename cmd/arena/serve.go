package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"time"
)

// applianceFlags are shared by the verbs that run an arena in this process.
type applianceFlags struct {
	Data    string  `placeholder:"DIR" help:"Data directory, made when missing. Default: ${default_data}."`
	Configs string  `placeholder:"DIR" help:"Directory laid over the embedded configuration, file by file."`
	Listen  string  `placeholder:"HOST:PORT" help:"Address to listen on; arena.toml says 127.0.0.1:7860."`
	BaseURL string  `name:"base-url" placeholder:"URL" help:"How clients reach this arena."`
	Speed   float64 `placeholder:"N" help:"Simulated seconds in a real one; arena.toml says 600."`
	Fault   string  `placeholder:"PLAN" help:"Faults of the simulated provider, such as stage=baseline or refuse@1; see the README."`
	Clients string  `placeholder:"DIR" help:"Directory with binaries for other platforms, arena-OS-ARCH; this one gives itself."`
	Verbose bool    `help:"Log every request."`
}

// options completes the flags with what only this process knows.
func (f applianceFlags) options(env *environ) (nodeOptions, error) {
	if err := checkSpeed(f.Speed); err != nil {
		return nodeOptions{}, err
	}
	if f.Data == "" {
		dir, err := env.dataDir()
		if err != nil {
			return nodeOptions{}, err
		}
		f.Data = dir
	}
	return nodeOptions{
		Data: f.Data, Configs: f.Configs, Listen: f.Listen, BaseURL: f.BaseURL, Speed: f.Speed, Fault: f.Fault, Clients: f.Clients,
		Log: env.logger(f.Verbose), Now: env.Now, Getenv: env.Getenv,
	}, nil
}

// checkSpeed refuses what is no speed. Zero is none given.
func checkSpeed(n float64) error {
	if math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		return usagef("--speed %v is no number of simulated seconds in a real one; use one such as 600", n)
	}
	return nil
}

// dataDir is where an arena keeps its data when no flag says so: below
// $XDG_DATA_HOME, else ~/.local/share.
func (env *environ) dataDir() (string, error) {
	base := env.Getenv("XDG_DATA_HOME")
	if base == "" {
		home, err := env.HomeDir()
		if err != nil {
			return "", usagef("no home directory to keep data in; name one with --data: %w", err)
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "posttrain-arena"), nil
}

// logger writes structured lines to standard error.
func (env *environ) logger(verbose bool) *slog.Logger { return newLogger(env.Stderr, verbose) }

func newLogger(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// serveCmd runs the server and nothing else.
type serveCmd struct {
	applianceFlags
}

// Run serves until it is interrupted.
func (cmd *serveCmd) Run(ctx context.Context, env *environ) error {
	o, err := cmd.options(env)
	if err != nil {
		return err
	}
	n, err := openNode(ctx, o)
	if err != nil {
		return err
	}
	o.Log.Info("serving", "url", n.server.BaseURL, "data", o.Data, "simulated", n.service.Simulated())
	return n.run(ctx)
}

// upCmd runs the whole appliance. On the first start it also makes an organizer
// token, so that a person can begin at once.
type upCmd struct {
	applianceFlags
	Mock bool `help:"Serve a mocked arena, as mock makes one; in a temporary directory unless --data names another."`
	mockFlags
	NoTUI bool `name:"no-tui" help:"Do not open the dashboard on a terminal; log to standard error instead."`
	tuiFlags
}

// organizerFile is where up keeps the organizer's token, inside the data
// directory.
const organizerFile = "organizer.token"

// Run serves until it is interrupted.
func (cmd *upCmd) Run(ctx context.Context, env *environ) (err error) {
	if err := checkSpeed(cmd.Speed); err != nil {
		return err
	}
	if cmd.Mock {
		remove, err := cmd.makeMock(ctx, env)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	o, err := cmd.options(env)
	if err != nil {
		return err
	}
	dashboard := !cmd.NoTUI && env.onTerminal()
	if dashboard {
		var file *os.File
		if o.Log, file, err = fileLogger(o.Data, cmd.Verbose); err != nil {
			return err
		}
		defer file.Close()
	}
	n, err := openNode(ctx, o)
	if err != nil {
		return err
	}
	if cmd.Mock && n.mock == nil {
		return errors.Join(usagef("%s holds an arena that is not mocked; leave out --mock, or name another --data", o.Data), n.close())
	}
	file := filepath.Join(o.Data, organizerFile)
	if _, err := os.Stat(file); os.IsNotExist(err) {
		secret, err := issueToken(ctx, n.store, env.Now(), "organizer", true)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
			return err
		}
	}
	env.say("PostTrain Arena is up at %s (data: %s)", n.server.BaseURL, o.Data)
	if n.mock != nil {
		env.say("It is mocked: everything in it is invented, and it shows the moment %s.", n.service.Now().UTC().Format(time.RFC3339))
	}
	if n.service.Simulated() {
		env.say("Runs are simulated: nothing is trained and nothing is spent.")
	}
	env.say("Act as the organizer:  export ARENA_URL=%s ARENA_TOKEN=$(cat %s)", n.server.BaseURL, argument(file))
	env.say("Then, for example:     arena whoami")
	env.say("A token for somebody:  arena token create --data %s --name NAME", argument(o.Data))
	if dashboard {
		return n.show(ctx, env, cmd.tuiFlags, file)
	}
	env.say("Stop with ctrl+c.")
	return n.run(ctx)
}

// quiet is a logger that drops everything.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
