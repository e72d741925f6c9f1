package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/client"
)

// logCmd prints a run's job log for people and pipes.
type logCmd struct {
	RunID     string   `arg:"" name:"run" help:"The run's id."`
	Challenge string   `placeholder:"CHALLENGE" help:"Its challenge; looked for when left out."`
	Follow    bool     `short:"f" help:"Go on until the run has ended."`
	After     position `placeholder:"N" help:"Begin after line N."`
	JSON      bool     `name:"json" help:"Print an object a line, with n, at and text, instead of the text."`
}

func (cmd *logCmd) speaksJSON() bool { return cmd.JSON }

// position is the number of a log line.
type position int64

// Validate refuses numbers that no line has.
func (p position) Validate() error {
	if p < 0 {
		return errors.New("must not be negative")
	}
	return nil
}

// Run prints the log.
func (cmd *logCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.signed()
	if err != nil {
		return err
	}
	challenge, err := runFlags{RunID: cmd.RunID, Challenge: cmd.Challenge}.challenge(ctx, c)
	if err != nil {
		return err
	}
	if cmd.Follow {
		for line, err := range c.FollowLog(ctx, challenge, cmd.RunID, int64(cmd.After)) {
			if err == nil {
				_, err = env.Stdout.Write(cmd.line(line, env.StdoutTTY))
			}
			if err != nil {
				return err
			}
		}
		env.say("%s has ended.", cmd.RunID)
		env.say("%s", next("runs", "--challenge", challenge, "--run-id", cmd.RunID))
		return nil
	}
	return cmd.printStored(ctx, env, c, challenge)
}

// printStored prints what is stored now, page by page.
func (cmd *logCmd) printStored(ctx context.Context, env *environ, c *client.Client, challenge string) error {
	for after := int64(cmd.After); ; {
		page, err := c.ReadLog(ctx, challenge, cmd.RunID, after, 0)
		if err != nil {
			return err
		}
		var out []byte
		for _, line := range page.Value.Lines {
			out = append(out, cmd.line(line, env.StdoutTTY)...)
		}
		if _, err := env.Stdout.Write(out); err != nil {
			return fmt.Errorf("write the log: %w", err)
		}
		if len(page.Value.Lines) == 0 || page.Value.Next <= after {
			if !page.Value.Ended {
				env.say("The run goes on. %s", next("log", cmd.RunID, "--follow"))
			}
			return nil
		}
		after = page.Value.Next
	}
}

// line is one line as it is printed. A terminal gets it without what could take
// the terminal over; a pipe gets it as it is.
func (cmd *logCmd) line(line protocol.LogLine, terminal bool) []byte {
	text := line.Text
	if cmd.JSON {
		// A number, a time and a string always encode; a time beyond the year
		// 9999 does not, and is no time of a log line.
		raw, err := json.Marshal(line)
		if err == nil {
			return append(raw, '\n')
		}
	}
	if terminal {
		text = visible(text)
	}
	return append([]byte(text), '\n')
}
