package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/tui"
	"github.com/posttrainarena/arena/tui/screen"
)

// tuiFlags are how the dashboard is shown.
type tuiFlags struct {
	ReadOnly bool   `name:"readonly" help:"Change nothing in the dashboard, whoever is signed in."`
	Keys     string `name:"keys" placeholder:"FILE" help:"Keys of your own for the dashboard, a line each, such as: log follow = F"`
	ASCII    bool   `name:"ascii" help:"Draw the dashboard with ASCII characters only; chosen by itself when the locale is not UTF-8."`
}

// maxKeysFile bounds how much of a file of keys is read.
const maxKeysFile = 64 << 10

// bindings is the key table with the person's own keys in it.
func (f tuiFlags) bindings() ([]screen.Binding, error) {
	if f.Keys == "" {
		return screen.Bindings(), nil
	}
	file, err := os.Open(f.Keys)
	if err != nil {
		return nil, usagef("--keys: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKeysFile))
	if err != nil {
		return nil, usagef("--keys: %w", err)
	}
	rows, err := screen.Remap(screen.Bindings(), f.Keys, string(text))
	if err != nil {
		return nil, usagef("--keys: %w", err)
	}
	return rows, nil
}

// tuiCmd shows the organizer's dashboard of an arena.
type tuiCmd struct {
	tuiFlags
}

func (tuiCmd) callsArena() {}

// Run shows it until the person leaves.
func (cmd *tuiCmd) Run(ctx context.Context, env *environ) error {
	token, err := env.token()
	if err != nil {
		return err
	}
	return env.dashboard(ctx, dashboard{tuiFlags: cmd.tuiFlags, url: env.baseURL(), token: token, now: env.Now})
}

// dashboard is what the dashboard is shown of, and how.
type dashboard struct {
	tuiFlags
	url        string
	token      client.Token
	now        func() time.Time
	quitEffect string // what leaving it does besides
}

// onTerminal reports whether a person sits at the input and the output.
func (env *environ) onTerminal() bool { return env.StdinTTY && env.StdoutTTY }

// dashboard shows the dashboard on this terminal until the person leaves it, ctx
// ends or the terminal goes away. Where there is no terminal that could show it,
// the overview is printed once.
func (env *environ) dashboard(ctx context.Context, d dashboard) error {
	// Reads are signed only with a token: an arena refuses reads that show an
	// unknown one.
	c, err := client.New(client.Options{
		BaseURL: d.url, Token: d.token, SignReads: !d.token.IsZero(), HTTP: env.Transport, UserAgent: "arena-tui/" + build().Version, Sleep: env.Sleep,
	})
	if err != nil {
		return err
	}
	bindings, err := d.bindings()
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find out where to save logs: %w", err)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	o := tui.Options{
		Client: c, BaseURL: c.BaseURL(), In: env.Stdin, Out: env.Stdout, Getenv: env.Getenv, Now: d.now, Zone: time.Local,
		ReadOnly: d.ReadOnly, ASCII: d.ASCII, QuitEffect: d.quitEffect, Create: tui.CreateIn(dir), Pager: env.pager,
		MaySuspend: maySuspend, Bindings: bindings, Files: tui.FilesIn(dir, env.Getenv("HOME")), Memory: env.memory(),
	}
	switch {
	case env.Getenv("TERM") == "dumb", !env.StdoutTTY:
		return tui.Print(ctx, o)
	case !env.StdinTTY:
		return usagef("the dashboard reads its keys from a terminal, and standard input is none")
	default:
		return tui.Run(ctx, o)
	}
}

// memory is where the dashboard keeps its layout: a file in the person's folder
// for settings, if there is one.
func (env *environ) memory() tui.Memory {
	dir := env.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // relative ones are to be ignored, as the convention says
		home, err := env.HomeDir()
		if err != nil || home == "" {
			return tui.Memory{}
		}
		dir = filepath.Join(home, ".config")
	}
	return tui.MemoryIn(filepath.Join(dir, "arena", "dashboard.json"))
}

// maySuspend reports whether a shell waits for this process. The leader of a
// session has none: whoever stops it stops it for good.
func maySuspend() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != os.Getpid()
}

// pager is the person's pager, less when none is named.
func (env *environ) pager(path string) *exec.Cmd {
	name := env.Getenv("PAGER")
	if name == "" {
		name = "less"
	}
	return exec.Command("sh", "-c", name+` "$1"`, "sh", path)
}

// logFile is where up keeps its log while the dashboard has the terminal, inside
// the data directory.
const logFile = "arena.log"

// fileLogger writes structured lines to the end of a file.
func fileLogger(dir string, verbose bool) (*slog.Logger, *os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, logFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return newLogger(f, verbose), f, nil
}

// show serves, and shows the dashboard until the person leaves it. Then the arena
// stops too.
func (n *node) show(ctx context.Context, env *environ, flags tuiFlags, tokenFile string) error {
	raw, err := readTokenFile(tokenFile)
	if err != nil {
		return errors.Join(fmt.Errorf("read the organizer's token: %w", err), n.close())
	}
	token, err := client.NewToken(raw)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", tokenFile, err), n.close())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		served <- n.run(ctx)
		stop() // without an arena there is nothing to show
	}()
	err = env.dashboard(ctx, dashboard{
		tuiFlags: flags, url: "http://" + n.listener.Addr().String(), token: token, now: n.service.Now,
		quitEffect: "The arena on this machine stops with the dashboard. A job goes on at its provider, and is found again at the next start.",
	})
	stop()
	return errors.Join(err, <-served)
}
