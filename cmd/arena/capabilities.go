package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/posttrainarena/arena/protocol"
)

// capabilitiesCmd prints what this binary can do, for programs.
type capabilitiesCmd struct {
	JSON bool `name:"json" help:"Print JSON, which is what happens without it too."`
}

func (capabilitiesCmd) speaksJSON() bool { return true }

// capabilities is the command line as data. It is made from the grammar, so it
// cannot differ from what the binary does.
type capabilities struct {
	Name      string               `json:"name"`
	Version   string               `json:"version"`
	Verbs     []verbCapability     `json:"verbs"`
	Flags     []flagCapability     `json:"flags"` // of every verb
	ExitCodes []exitCapability     `json:"exit_codes"`
	Variables []variableCapability `json:"environment"`
	Errors    []errorCapability    `json:"errors"`
}

type verbCapability struct {
	Verb      string               `json:"verb"`
	Help      string               `json:"help"`
	JSON      bool                 `json:"json"`   // standard output is one JSON document
	Remote    bool                 `json:"remote"` // it calls an arena
	Arguments []argumentCapability `json:"arguments"`
	Flags     []flagCapability     `json:"flags"`
}

type argumentCapability struct {
	Name     string   `json:"name"`
	Help     string   `json:"help"`
	Required bool     `json:"required"`
	Values   []string `json:"values,omitempty"`
}

type flagCapability struct {
	Flag     string   `json:"flag"`
	Help     string   `json:"help"`
	Value    string   `json:"value,omitempty"` // what stands after it; empty for a switch
	Default  string   `json:"default,omitempty"`
	Values   []string `json:"values,omitempty"`
	Required bool     `json:"required"`
}

type exitCapability struct {
	Code    int    `json:"code"`
	Meaning string `json:"meaning"`
}

type variableCapability struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

type errorCapability struct {
	Code    string `json:"code"`
	Status  int    `json:"status"`
	Detail  string `json:"detail"`
	Cause   string `json:"cause"`
	Fix     string `json:"fix"`
	Command string `json:"command,omitempty"`
}

// Run prints them.
func (cmd *capabilitiesCmd) Run(env *environ, parser *kong.Kong) error {
	return env.document(capabilitiesOf(parser.Model))
}

// exitCodes lists how the process can end.
func exitCodes() []exitCapability {
	return []exitCapability{
		{exitOK, "done"},
		{exitError, "an error answer, no connection, or an answer of no"},
		{exitUsage, "a command line, file or address that cannot be used; nothing was sent"},
		{exitNotAllowed, "a preflight does not allow the run"},
		{exitInterrupted, "interrupted"},
	}
}

// variables lists what of the environment is looked at.
func variables() []variableCapability {
	return []variableCapability{
		{"ARENA_URL", "the arena to call, when --url does not name one"},
		{"ARENA_TOKEN", "the token to act with"},
		{"HF_TOKEN", "the token, when ARENA_TOKEN is not set"},
		{"HF_TOKEN_PATH", "a file with the token, when neither is set"},
		{"HF_HOME", "the directory whose file token is looked at next, before ~/.cache/huggingface/token"},
		{"XDG_DATA_HOME", "where an arena of your own keeps its data"},
		{"NO_COLOR", "no colour in the dashboard"},
	}
}

func capabilitiesOf(app *kong.Application) capabilities {
	b := build()
	out := capabilities{Name: b.Name, Version: b.Version, Flags: flagsOf(app.Flags), ExitCodes: exitCodes(), Variables: variables()}
	for _, leaf := range app.Leaves(true) {
		v := verbCapability{Verb: strings.TrimPrefix(leaf.FullPath(), app.Name+" "), Help: leaf.Help, Arguments: []argumentCapability{}, Flags: flagsOf(leaf.Flags)}
		speaks, ok := leaf.Target.Addr().Interface().(interface{ speaksJSON() bool })
		v.JSON = ok && speaks.speaksJSON()
		_, v.Remote = leaf.Target.Addr().Interface().(interface{ callsArena() })
		for _, p := range leaf.Positional {
			v.Arguments = append(v.Arguments, argumentCapability{Name: p.Name, Help: p.Help, Required: p.Required, Values: enumOf(p)})
		}
		out.Verbs = append(out.Verbs, v)
	}
	for _, e := range protocol.Catalogue() {
		r, _ := protocol.RemedyFor(e.Code)
		out.Errors = append(out.Errors, errorCapability{Code: e.Code, Status: e.Kind.Status(), Detail: e.Detail, Cause: r.Cause, Fix: r.Fix, Command: r.Command})
	}
	return out
}

func flagsOf(flags []*kong.Flag) []flagCapability {
	out := []flagCapability{}
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		c := flagCapability{Flag: "--" + f.Name, Help: f.Help, Required: f.Required, Values: enumOf(f.Value)}
		if f.HasDefault {
			c.Default = f.Default
		}
		if !f.IsBool() {
			c.Value = f.FormatPlaceHolder()
		}
		out = append(out, c)
	}
	return out
}

// manCmd prints the manual page.
type manCmd struct{}

// Help says how to read it.
func (*manCmd) Help() string { return "arena man | man -l -" }

// Run prints the manual page in roff, made from the grammar.
func (cmd *manCmd) Run(env *environ, parser *kong.Kong) error {
	if _, err := fmt.Fprint(env.Stdout, manual(parser.Model, capabilitiesOf(parser.Model))); err != nil {
		return fmt.Errorf("write the manual page: %w", err)
	}
	return nil
}

// manual renders the capabilities as a manual page (man(7)).
func manual(app *kong.Application, c capabilities) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p(`.TH ARENA 1 "" "arena %s" "PostTrain Arena"`, roff(c.Version))
	p(".SH NAME\narena \\- %s", roff("measure how much a collection of task environments improves a model"))
	p(".SH SYNOPSIS\n.B arena\n[\\fB\\-\\-url\\fR=\\fIURL\\fR] \\fIVERB\\fR [\\fIARGUMENT\\fR...]")
	p(".SH DESCRIPTION\n%s", roff(strings.ReplaceAll(app.Help, "\n\n", " ")))
	p(".SH VERBS")
	for _, v := range c.Verbs {
		p(".SS %s", roff("arena "+v.Verb))
		p("%s", roff(v.Help))
		for _, a := range v.Arguments {
			p(".TP\n.I %s\n%s", roff(strings.ToUpper(a.Name)), roff(a.Help))
		}
		manualFlags(p, v.Flags)
	}
	p(".SH OPTIONS OF EVERY VERB")
	manualFlags(p, c.Flags)
	p(".SH EXIT STATUS")
	for _, e := range c.ExitCodes {
		p(".TP\n.B %d\n%s", e.Code, roff(e.Meaning))
	}
	p(".SH ENVIRONMENT")
	for _, v := range c.Variables {
		p(".TP\n.B %s\n%s", roff(v.Name), roff(v.Meaning))
	}
	p(".SH ERRORS\nStandard output then holds a problem with one of these codes.")
	for _, e := range c.Errors {
		p(".TP\n.B %s\n%s", roff(e.Code), roff(strings.TrimSpace(e.Cause+" "+e.Fix)))
	}
	return b.String()
}

func manualFlags(p func(string, ...any), flags []flagCapability) {
	for _, f := range flags {
		value := ""
		if f.Value != "" {
			value = `=\fI` + roff(f.Value) + `\fR`
		}
		p(".TP\n\\fB%s\\fR%s\n%s", roff(f.Flag), value, roff(f.Help))
	}
}

// roff is a text that roff shows as it is.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(strings.Join(strings.Fields(s), " "))
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
