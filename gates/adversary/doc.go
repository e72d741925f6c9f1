// Package adversary says what it takes to cheat a task's verifier, and what trying it came to.
//
// An [Attack] is data: what somebody does who may do what the agent may do, before grading, instead of the work; why it
// works where it works; and how to close it. Every one of them must score 0. A [Mutant] is the reference solution with
// one thing wrong. Tests that accept one are weak, or the thing did not matter: programs that differ and do the same
// exist, and nobody can tell them apart in general, so a mutant that passes is a reason to look and no exploit.
//
// [Plan] lists the trials of one package as a pure function of its files and of [Options]; package controls runs them.
// [Judge] makes the report: one line of soundness for each task. None of this decides whether a task is accepted: the
// verdicts of the dynamic gates (PROTOCOL §7) come from the controls alone.
//
// # What stands between the agent and the grading
//
// Harnesses differ in what they do before they grade. Most attacks are tried under a guarded one, which is what the
// arena's own runner does: /logs/verifier is made anew by root, the verifier's files are copied in afterwards, and what
// the agent started is of no use without a folder that it can write to. What gets through there gets through anywhere.
// Three attacks are tried under a harness that leaves out one of these, see [Guard]: a verifier should not depend on
// them. None is tried under one that leaves out both, because no verifier can resist that.
//
// # What is not tried
//
// That the work itself is the attack: a verifier that runs the agent's program as root gives it root. Most do, so saying
// it of each would say nothing; the static gates name the files. Files that the reference solution mentions are taken
// for the work and left alone.
package adversary
