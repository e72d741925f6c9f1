// Package protocol holds the arena's nouns and the rules that need no I/O.
//
// Everything PROTOCOL.md promises that can be decided from values alone is a
// function here: the run state machine, the preflight list, the ledger
// arithmetic, ids and their derivation, who may do what. The package knows no
// clock, no randomness, no SQL and no HTTP; callers pass the time in and act on
// the answer. That keeps every decision replayable from a file and lets the
// server, the mock world and the simulator share one set of rules.
//
// Files are named after nouns, and the same noun has the same file name in the
// rooms that build on this one: store, protocol/arena, protocol/api,
// protocol/server, protocol/client and cmd/arena.
package protocol
