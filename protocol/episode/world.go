package episode

import "context"

// World is what a session plays in. The server calls one method at a time.
type World interface {
	// Task is the task's id and what is asked of the agent; it never changes.
	Task() (id, instruction string)
	// Reset restores the unsolved task. It may be called at any time.
	Reset(ctx context.Context) error
	// Shell runs a command as the agent. A command that fails, runs too long or
	// writes too much is a Result too; an error means that the world is broken.
	Shell(ctx context.Context, command string) (Result, error)
	// Grade ends the episode: a reward from 0 to 1. Whatever the agent left behind
	// is no error.
	Grade(ctx context.Context) (reward float64, err error)
	// Quiet kills whatever the agent has running.
	Quiet() error
}

// Result is what a shell command left.
type Result struct {
	ExitCode int    // 128 + the signal of a killed one; 124 of one that ran too long
	Output   string // both streams as they came; the middle is left out when it is long
}
