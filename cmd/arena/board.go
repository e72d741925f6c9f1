package main

import (
	"context"

	"github.com/posttrainarena/arena/protocol/api"
)

// boardCmd groups what there is to do on the board.
type boardCmd struct {
	List boardListCmd `cmd:"" help:"Read the board, newest message first."`
	Post boardPostCmd `cmd:"" help:"Post a message; the same request_id never posts twice."`
}

type boardListCmd struct {
	remote
	Page pageFlags `embed:""`
}

// Run reads a page of the board.
func (cmd *boardListCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.reader()
	if err != nil {
		return err
	}
	a, err := c.ListMessages(ctx, cmd.Page.page())
	return list(env, a, err)
}

type boardPostCmd struct {
	remote
	File string `required:"" placeholder:"FILE" help:"JSON with request_id, body and optionally agent_id and refs; - is standard input."`
}

// Run posts the message.
func (cmd *boardPostCmd) Run(ctx context.Context, env *environ) error {
	var req api.PostMessage
	if err := env.decode(cmd.File, &req); err != nil {
		return err
	}
	c, err := env.signed()
	if err != nil {
		return err
	}
	a, err := c.PostMessage(ctx, req)
	if err != nil {
		return uncertain(err, "The message may have been posted. Look at the board, and repeat the same file: the same request_id never posts twice.")
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	if a.Value.Existing {
		env.say("This request_id posted %s before; nothing was posted twice.", a.Value.Filename)
	} else {
		env.say("Posted as %s.", a.Value.Filename)
	}
	return nil
}
