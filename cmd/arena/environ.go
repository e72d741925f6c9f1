package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"github.com/mattn/go-isatty"
)

// environ is everything that a verb may know and use of its process. Tests make
// their own.
type environ struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	StdinTTY  bool // a person may be asked
	StdoutTTY bool // a person reads the answers
	StderrTTY bool // a person reads the notes

	Getenv    func(name string) string
	Environ   func() []string // all of it, for a process that passes it on
	HomeDir   func() (string, error)
	Now       func() time.Time
	Sleep     func(ctx context.Context, d time.Duration) error
	Jitter    func(d time.Duration) time.Duration // d, give or take a fifth
	Transport http.RoundTripper

	// URL is the flag --url; empty when it was not given.
	URL string
}

// processEnviron is the environ of the real process.
func processEnviron() *environ {
	return &environ{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinTTY: isTTY(os.Stdin), StdoutTTY: isTTY(os.Stdout), StderrTTY: isTTY(os.Stderr),
		Getenv: os.Getenv, Environ: os.Environ, HomeDir: os.UserHomeDir, Now: time.Now, Sleep: sleep, Jitter: jitter,
		Transport: http.DefaultTransport,
	}
}

func isTTY(f *os.File) bool { return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()) }

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// jitter keeps clients that were started together from asking together.
func jitter(d time.Duration) time.Duration { return d + rand.N(d*2/5+1) - d/5 }
