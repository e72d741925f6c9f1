// Package dynamic plans the dynamic gates of a collection and judges what running them gave (PROTOCOL §7).
//
// [New] lists, for every eligible task, what has to be run: the reference solution and a no-op several times each, and
// attempts of the challenge's base model. [Collect] makes the trials of a plan from what a harness left in the
// directory of each step. [Judge] decides every task from them, and [Rest] names the steps to run again for those that
// stayed open.
//
// A plan is a pure function of the files, the options and the challenge, and carries a digest of itself: whoever has
// the same files makes the same plan, so results can be bound to it without trusting the machine that ran it. Nothing
// here runs anything; package controls does.
package dynamic
