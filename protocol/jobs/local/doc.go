// Package local runs jobs as processes on this machine (PROTOCOL §8): the
// pipeline's command with a run's config file.
//
// The service behind this provider is a directory and the kernel. Each job has a
// directory of its own, named by its id:
//
//	job.json         what was asked for; the directory appears with it complete
//	run/             the command's working directory: config.toml, the task lists
//	                 that it names (task-lists/), and collection/ when no code host
//	                 has the collection. The task lists name sealed tasks.
//	output/          what the job leaves: $ARENA_RUN_DIR, the tree of PROTOCOL §10
//	log              what it printed, one line a line, each behind its time
//	supervisor.json  who looks after the command: process id and time of birth
//	command.json     the same of the command
//	cancel.json      when somebody asked for the job to stop
//	exit.json        how it ended
//	supervisor.log   what the supervisor had to say itself; empty when all is well
//
// Directories have mode 0700 and files 0600. Records are written once, as a whole
// or not at all, so two processes cannot both begin or both end a job.
//
// Between the arena and the command stands a supervisor: this binary once more,
// in a session of its own, running Supervise. It is nobody's child for long. When
// the arena stops, in order or not, the supervisor goes on: it puts the time
// before each line, ends a command that takes too long or that somebody canceled
// (TERM to its process group, KILL after a grace), kills what the command left
// running, on Linux even what became a session of its own, and writes how it
// ended. A new arena finds the job by its directory, reads the log where the old one stopped,
// and knows from the recorded birth whether a process id still means the same
// process. A supervisor that died without a word is noticed the same way; the
// rest of its job is killed and the job has failed.
//
// The command gets PATH, HOME and a few other harmless variables, those that the
// configuration names, and:
//
//	ARENA_RUN_ID      the run
//	ARENA_RUN_DIR     output/, where the pipeline's files belong
//	ARENA_CONFIG      run/config.toml
//	ARENA_COLLECTION  run/collection, unset when a code host has the collection
//
// Everything else of the arena's environment, tokens above all, stays away from
// it, and nothing that it gets of that environment is ever written to disk.
//
// A job's directory is removed some days after its end (Options.Keep), and may be
// removed by hand once its run has ended: the arena has copied what it keeps.
package local
