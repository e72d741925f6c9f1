// Package simulated is a GPU provider that plays runs instead of computing them.
//
// It has two halves. Play is pure: from a job's spec, a seed and a fault it
// makes the job's whole log, its uploads and its end. Lines have the pipeline's
// forms and timing (reference/pipeline.md §2.5 and §4.2), uploads its layout
// (PROTOCOL §10). The same arguments always give the same play, on every
// machine, so two arenas with one seed play the same runs, and the mock world
// uses Play without the other half.
//
// Provider is the other half: the outside world of an arena on a laptop. Its
// jobs live in a directory and go on while the arena is down, so killing the
// arena is as harmless to them as it is to jobs at a real service. The directory
// holds one file for each Start and one for each Cancel; everything else is
// computed from the time. Options.Speed says how many seconds of a job pass in
// one second: timestamps are real, Billed and Spec.Timeout are the job's time.
//
// # What a play without a fault does
//
// It always ends with a report. The seed that it follows lets many runs stop,
// because eight attempts at one task often score the same; here that happens
// only on request (FaultZeroVariance). Three rules make it so, and each depends
// on nothing but the seed and the collection:
//
//   - SolveRates never makes a whole collection unsolvable.
//   - The training group's task is the first one in the revision's own order
//     that the model sometimes solves and sometimes does not.
//   - A recipe that requires reward variance has its rollouts drawn again until
//     they differ, and a rollout's last attempt does not time out.
//
// Evaluations still have timeouts and now and then an errored task, but never
// more than the recipe tolerates.
package simulated
