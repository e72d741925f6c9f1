// Package controls runs the controls of the dynamic gates on a container engine of this machine: it builds a task's
// image and runs its reference solution and its no-op as often as a plan says (PROTOCOL §7).
//
// What it writes is the harness's job layout, one directory a step (reference/pipeline.md §3.1), so that whatever
// collects the jobs of the harness collects these. A trial's directory appears whole, by a rename, when the trial has
// ended: it is the journal too, and a run that was interrupted goes on with the steps that have none.
//
// A trial is a container of its own without a network, with the limits of the task. The script runs as root, as the
// harness runs it. Then /logs/verifier is made anew, the verifier is copied in, and test.sh decides. Three things that
// can go wrong are told apart: the image does not build (the task's fault, and the same for every trial), the engine or
// this machine fails (nobody's; the trial stays open and is run again), and the task fails.
//
// When it is asked to, it also tries to cheat each verifier, with the attacks and mutants of package adversary. Their
// trials are beside those of the gates, in a directory that no plan names, with a report of their own: the verdicts on
// tasks come from the controls alone.
//
// Containers and images carry a label of the run. They are removed when it ends, and what an earlier, killed run on the
// same directory left is removed when it begins.
package controls
