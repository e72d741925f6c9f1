package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/store"
)

// The exit codes (PROTOCOL §16).
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitNotAllowed  = 3
	exitNewer       = 78 // the database is a newer arena's: starting again does not help (EX_CONFIG, so that a service manager stops trying)
	exitInterrupted = 130
)

// usageError is a command line, file or address that cannot be used. Nothing was
// sent.
type usageError struct {
	detail string
	verb   string // whose help to read; empty for all of it
	err    error
}

func (e *usageError) Error() string { return e.detail }
func (e *usageError) Unwrap() error { return e.err }

// usagef makes a usage error.
func usagef(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &usageError{detail: err.Error(), err: errors.Unwrap(err)}
}

// usageFrom maps what the parser refused.
func usageFrom(e *kong.ParseError) error {
	u := &usageError{detail: e.Error(), err: e}
	if e.Context != nil {
		if node := e.Context.Selected(); node != nil {
			u.verb = node.FullPath()
		}
	}
	return u
}

// verdict is an answer of no: the verb did its work, and its JSON and its
// explanation are printed already.
type verdict struct {
	code int
	text string
}

func (v *verdict) Error() string { return v.text }

// advised is a failure with what to do about it, a line each.
type advised struct {
	error
	lines []string
}

func (a *advised) Unwrap() error { return a.error }

// exitCode is the one place that decides how the process ends.
func exitCode(ctx context.Context, err error) int {
	var no *verdict
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &no):
		return no.code
	case interrupted(ctx, err):
		return exitInterrupted
	case errors.Is(err, store.ErrNewerSchema):
		return exitNewer
	case errors.As(err, &usage), errors.Is(err, client.ErrBaseURL), errors.Is(err, client.ErrName):
		return exitUsage
	default:
		return exitError
	}
}

// interrupted reports whether err is the echo of an interrupt.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// finish reports how a verb ended and returns the exit code.
func (env *environ) finish(ctx context.Context, err error, asJSON bool) int {
	code := exitCode(ctx, err)
	if _, told := errors.AsType[*verdict](err); err == nil || told {
		return code
	}
	if asJSON {
		// A failure to write has nowhere to go, and the code says enough.
		_ = env.answer(problemJSON(err, code))
	}
	env.say("%s", "arena: "+explain(err, code))
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		for _, f := range e.Fields {
			env.say("  %s: %s", f.Field, f.Message)
		}
	}
	for _, line := range hints(err) {
		env.say("%s", line)
	}
	return code
}

// remedyOf is what an error teaches: what the arena says, which knows the names
// in the address, else what the catalogue does.
func remedyOf(err error) (protocol.Remedy, bool) {
	if a, ok := errors.AsType[*client.AnswerError](err); ok {
		var p api.Problem
		if json.Unmarshal(a.Raw, &p) == nil && p.Fix != "" {
			return protocol.Remedy{Cause: p.Cause, Fix: p.Fix, Command: p.Command}, true
		}
	}
	e, ok := errors.AsType[*protocol.Error](err)
	if !ok {
		return protocol.Remedy{}, false
	}
	if r, ok := clientRemedies()[e.Code]; ok {
		return r, true
	}
	return protocol.RemedyFor(e.Code)
}

// clientRemedies teach about the failures that no arena answered with.
func clientRemedies() map[string]protocol.Remedy {
	const up = "arena up"
	return map[string]protocol.Remedy{
		client.ErrBaseURL.Code:     {Cause: "The address is no URL of an arena, or would show your token to the network.", Fix: "Set ARENA_URL or --url to https://HOST, or to http:// on this machine."},
		client.ErrName.Code:        {Cause: "An id is empty or cannot be part of an address.", Fix: "Take ids from the lists.", Command: "arena environments list"},
		client.ErrNetwork.Code:     {Cause: "Nothing answers at the address.", Fix: "See whether the arena runs and ARENA_URL names it; one on this machine is started with arena up.", Command: up},
		client.ErrProxy.Code:       {Cause: "A proxy in front of the arena does not reach it; that passes.", Fix: "Run the identical command again in a few minutes."},
		client.ErrRedirect.Code:    {Cause: "A redirect could carry your token to another host.", Fix: "Set ARENA_URL to the address that the arena itself has."},
		client.ErrNotArena.Code:    {Cause: "Another program answers there, or an arena of another version.", Fix: "Check ARENA_URL, and compare the versions.", Command: "arena version --check"},
		client.ErrAnswerSize.Code:  {Cause: "Answers are read into memory, so their size is bounded.", Fix: "Ask for fewer rows with --limit."},
		client.ErrBundleRead.Code:  {Cause: "A file of the directory changed or vanished while it was sent.", Fix: "Let nothing write there, and run the identical command again.", Command: "arena gates static DIR"},
		client.ErrStreamEvent.Code: {Cause: "The arena is of another version than this client.", Fix: "Compare the versions.", Command: "arena version --check"},
	}
}

// teach are the lines about an error's remedy that nothing before has said.
func teach(err error, before []string) []string {
	r, ok := remedyOf(err)
	if !ok {
		return nil
	}
	lines := []string{"Why: " + r.Cause, "Fix: " + r.Fix}
	if r.Command != "" && !slices.ContainsFunc(before, func(l string) bool { return strings.HasPrefix(l, "Next: ") }) {
		lines = append(lines, "Next: "+r.Command)
	}
	return lines
}

// explain is a failure in one sentence.
func explain(err error, code int) string {
	if code == exitInterrupted {
		return "interrupted"
	}
	if e, ok := errors.AsType[*client.PersistentError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return e.Detail // the cause of a client's failure is part of its sentence
	}
	return err.Error()
}

// hints are the lines below the sentence: what to do next.
func hints(err error) []string {
	var lines []string
	if a, ok := errors.AsType[*advised](err); ok {
		lines = append(lines, a.lines...)
	}
	if u, ok := errors.AsType[*usageError](err); ok {
		help := "arena --help"
		if u.verb != "" {
			help = u.verb + " --help"
		}
		lines = append(lines, "Help: "+help)
	}
	switch {
	case errors.Is(err, protocol.ErrSignedOut):
		lines = append(lines, "The token is looked for in "+tokenPlaces+".")
	case errors.Is(err, protocol.ErrBadToken):
		lines = append(lines, "Check which one is sent: it is the first that is set of "+tokenPlaces+".")
	}
	lines = append(lines, teach(err, lines)...)
	if e, ok := errors.AsType[*protocol.Error](err); ok && e.RequestID != "" && e.Kind == protocol.KindInternal {
		lines = append(lines, "Request id: "+e.RequestID)
	}
	return lines
}

// problemJSON is the document that a failure leaves on standard output: the
// arena's own problem as it came, or one of the same form for what never became
// an answer. Its status is then 0, and its code says what it was.
func problemJSON(err error, code int) json.RawMessage {
	if e, ok := errors.AsType[*client.AnswerError](err); ok {
		return json.RawMessage(strings.TrimSpace(string(e.Raw)))
	}
	p := api.Problem{Type: "about:blank", Title: "No answer", Detail: explain(err, code), Code: "failed"}
	if r, ok := remedyOf(err); ok {
		p.Cause, p.Fix, p.Command = r.Cause, r.Fix, r.Command
	}
	switch e, ok := errors.AsType[*protocol.Error](err); {
	case code == exitInterrupted:
		p.Title, p.Code, p.Retryable = "Interrupted", "interrupted", true
	case ok:
		p.Code, p.Errors, p.Retryable = e.Code, e.Fields, e.Kind == protocol.KindUnavailable
	case code == exitUsage:
		p.Title, p.Code = "Usage", "usage"
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	// Strings, numbers and a boolean always encode.
	_ = e.Encode(p)
	return out.Bytes()
}
