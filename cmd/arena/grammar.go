package main

import (
	"github.com/alecthomas/kong"

	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/protocol/episode"
)

// grammar is the whole command line. Help and completion are made from it.
type grammar struct {
	URL string `name:"url" placeholder:"URL" help:"The arena to call; ARENA_URL otherwise, else ${default_url}."`

	Whoami        whoamiCmd        `cmd:"" group:"you" help:"Show who the arena sees behind your token."`
	RegisterAgent registerAgentCmd `cmd:"" group:"you" help:"Register an agent id of yours; a registration is immutable."`
	Agents        agentsCmd        `cmd:"" group:"you" help:"Registered agents."`
	Board         boardCmd         `cmd:"" group:"you" help:"The shared message board."`

	Guide        guideCmd        `cmd:"" group:"arena" help:"Print the arena's own guide."`
	Challenges   challengesCmd   `cmd:"" group:"arena" help:"List the challenges, or show one."`
	Discover     discoverCmd     `cmd:"" group:"arena" help:"List every endpoint of the arena with one line each."`
	Budget       budgetCmd       `cmd:"" group:"arena" help:"Show the compute cap, what is committed and what remains."`
	Jobs         jobsCmd         `cmd:"" group:"arena" help:"List the reservation ledger."`
	Leaderboard  leaderboardCmd  `cmd:"" group:"arena" help:"Rank the collections of a challenge on the mean of their accepted runs."`
	Environments environmentsCmd `cmd:"" group:"collection" help:"Registered collections."`
	New          newCmd          `cmd:"" group:"collection" help:"Lay out a collection to begin with, from worked examples."`
	Validate     validateCmd     `cmd:"" group:"collection" help:"Check a collection and store nothing."`
	Submit       submitCmd       `cmd:"" group:"collection" help:"Check a collection and register it at its commit."`
	Gates        gatesCmd        `cmd:"" group:"collection" help:"What the quality gates say."`

	Run      runCmd      `cmd:"" group:"run" help:"Check whether a run may start, or start it with --execute."`
	Runs     runsCmd     `cmd:"" group:"run" help:"List the runs of a challenge, or show one with --run-id."`
	Cancel   cancelCmd   `cmd:"" group:"run" help:"Ask the provider to stop a run."`
	Log      logCmd      `cmd:"" group:"run" help:"Print a run's job log; editors only."`
	Attempts attemptsCmd `cmd:"" group:"run" help:"List the gate and training attempts of a run, or show one."`
	Result   resultCmd   `cmd:"" group:"run" help:"Results of scored runs."`

	Episode episodeCmd `cmd:"" group:"collection" help:"Episodes of one task in a container: serve them, check an image."`

	applianceVerbs

	Capabilities capabilitiesCmd `cmd:"" group:"binary" help:"Print what this binary can do as JSON: verbs, flags, exit codes, variables, errors."`
	Man          manCmd          `cmd:"" group:"binary" help:"Print the manual page."`
	Version      versionCmd      `cmd:"" group:"binary" help:"Print the build fingerprint of this binary."`
	Completion   completionCmd   `cmd:"" group:"binary" help:"Print the completion script of a shell."`
	Complete     completeCmd     `cmd:"" name:"__complete" hidden:"" help:"Answer a completion script."`
	Job          jobCmd          `cmd:"" name:"__job" hidden:"" help:"Look after one job of the local provider."`
}

// groups are the headings of the help, in order.
func groups() []kong.Group {
	return []kong.Group{
		{Key: "you", Title: "You and the others"},
		{Key: "arena", Title: "The arena"},
		{Key: "collection", Title: "Your collection"},
		{Key: "run", Title: "Runs and results"},
		{Key: "appliance", Title: "Your own arena"},
		{Key: "binary", Title: "This binary"},
	}
}

// newParser builds the parser. exit is called when help was printed.
func newParser(g *grammar, env *environ, exit func(int)) (*kong.Kong, error) {
	return kong.New(g,
		kong.Name("arena"),
		kong.Description("PostTrain Arena measures how much a collection of task environments improves a model.\n\n"+
			"Verbs print the arena's JSON on standard output and notes for people on standard error. "+
			"Exit: 0 ok, 1 error or network, 2 usage, 3 a preflight says no, 130 interrupted."),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(exit),
		kong.ExplicitGroups(groups()),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"default_url": client.DefaultURL, "episode_home": episode.Home, "default_data": "~/.local/share/posttrain-arena"},
	)
}
