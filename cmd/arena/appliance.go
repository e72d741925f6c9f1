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

	Backup    backupCmd    `cmd:"" group:"appliance" help:"Write a consistent, checked copy of the arena to a new file, also while it serves."`
	Restore   restoreCmd   `cmd:"" group:"appliance" help:"Put a backup in the place of a stopped arena's database, which is kept beside it."`
	Doctor    doctorCmd    `cmd:"" group:"appliance" help:"Check the arena and its machine, and say how to fix what is wrong."`
	Audit     auditCmd     `cmd:"" group:"appliance" help:"The audit trail."`
	Migrate   migrateCmd   `cmd:"" group:"appliance" help:"Bring a stopped arena's database to this version's schema, or only rehearse it."`
	Predeploy predeployCmd `cmd:"" group:"appliance" help:"Say whether the arena may be restarted now, and what that would cut: exits 1 while a job is live."`
	Relay     relayCmd     `cmd:"" group:"appliance" help:"The tunnel between a job's model and the arena."`
	Webhook   webhookCmd   `cmd:"" group:"appliance" help:"Programs elsewhere that are told what happens."`
	Systemd   systemdCmd   `cmd:"" group:"appliance" help:"Print a systemd unit for this arena."`

	Import importCmd `cmd:"" group:"collection" help:"Bring tasks of another layout into a collection's."`
}
