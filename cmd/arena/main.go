package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/posttrainarena/arena/cmd/arena/hush"
)

func main() { os.Exit(start()) }

// start runs the command line of the process. The first interrupt asks the verb
// to end; a second one ends the process at once.
func start() int {
	hush.Restore()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], processEnviron())
}

// run parses a command line, runs its verb and returns the exit code.
func run(ctx context.Context, args []string, env *environ) int {
	g := new(grammar)
	helped := false
	parser, err := newParser(g, env, func(int) { helped = true })
	if err != nil {
		return env.finish(ctx, err, true)
	}
	if len(args) == 0 {
		parser.Stdout = env.Stderr // nothing was asked for, so help is no answer
		_, _ = parser.Parse([]string{"--help"})
		return exitUsage
	}
	line, err := parser.Parse(args)
	if helped {
		return exitOK
	}
	if err != nil {
		if wrong, ok := errors.AsType[*kong.ParseError](err); ok {
			err = usageFrom(wrong)
		}
		return env.finish(ctx, err, true)
	}
	env.URL = g.URL
	line.BindTo(ctx, (*context.Context)(nil))
	err = line.Run(env)
	if wrong, ok := errors.AsType[*usageError](err); ok {
		wrong.verb = line.Selected().FullPath()
	}
	return env.finish(ctx, err, speaksJSON(line))
}

// speaksJSON reports whether the chosen verb promises JSON on standard output,
// failures included.
func speaksJSON(line *kong.Context) bool {
	node := line.Selected()
	if node == nil {
		return true
	}
	verb, ok := node.Target.Addr().Interface().(interface{ speaksJSON() bool })
	return ok && verb.speaksJSON()
}

// remote marks a verb that calls an arena and answers with its JSON.
type remote struct{}

func (remote) speaksJSON() bool { return true }
func (remote) callsArena()      {}
