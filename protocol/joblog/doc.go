// Package joblog reads a run's job log: a fold of state × line → state
// (PROTOCOL §9).
//
// A log is read once, line by line, while it arrives. State.Fold takes a line
// and the time at which it arrived; State.Save and Load carry the state over a
// restart at any line, so nothing is ever read twice. What the log says is asked
// of the state: Progress for the timeline and the counts, Reason, Issue and
// Fault for why it stopped, TrainerExit for how it ended.
//
// The log is written by programs that nobody controls, and parts of it come from
// participants: prompts and verifier output are printed unescaped. The fold
// therefore trusts very little. A verdict counts only for a task that the stage
// is expected to have, and only as often as that task can be attempted; forged
// names are counted apart. Nothing here decides a score: scores come from the
// per-task outcomes that package score recomputes.
//
// The fold never fails. A line that means nothing is left as text. Its memory
// does not depend on the length of the log: it grows with the number of expected
// tasks and is bounded for everything else, and a line that changes nothing
// allocates nothing.
//
// Splitter turns raw bytes into lines for providers that have only those, Clean
// removes what a terminal would obey, and Redactor takes sealed names out of a
// text before participants see it.
package joblog
