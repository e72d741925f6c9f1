package main

// applianceVerbs are the verbs that run or look after an arena on this machine.
// They are part of the grammar; each is written beside what it runs.
type applianceVerbs struct {
	Up       upCmd       `cmd:"" group:"appliance" help:"Run an arena on this machine; the first start makes an organizer token."`
	Serve    serveCmd    `cmd:"" group:"appliance" help:"Run the server and nothing else."`
	TUI      tuiCmd      `cmd:"" name:"tui" group:"appliance" help:"The organizer's dashboard of an arena, on this terminal."`
	Mock     mockCmd     `cmd:"" group:"appliance" help:"Make a mocked arena: a data directory that looks as if it had been in use for two weeks."`
	Rehearse rehearseCmd `cmd:"" group:"appliance" help:"Take a collection on disk through everything an arena does with it, and show every refusal with its fix."`
	Sim      simCmd      `cmd:"" group:"appliance" help:"Play the arena's rules against an outside world that lies and a process that dies."`
	Demo     demoCmd     `cmd:"" group:"appliance" help:"Show the whole loop on a temporary arena, from validate to leaderboard."`
	Token    tokenCmd    `cmd:"" group:"appliance" help:"Tokens that this arena issues."`
	Config   configCmd   `cmd:"" group:"appliance" help:"The arena's configuration."`
	Import   importCmd   `cmd:"" group:"collection" help:"Bring tasks of another layout into a collection's."`
}
