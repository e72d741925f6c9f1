// Package shell says what a shell script does, without running it.
//
// A script is parsed with mvdan.cc/sh and then followed symbolically: every
// statement is executed on a set of states, one state for each way the script
// may have come that far. A state knows the variables, the working directory,
// the exit status and the small files written so far; whatever it does not
// know stays unknown and splits the set when a branch depends on it. States
// that have become equal are merged, so the set stays small.
//
// Three questions are answered on top of that:
//
//   - [Follow] lists the commands a script may run, in order, with constants
//     resolved. The image model uses it for RUN instructions.
//   - [Verifier] says what test.sh can write to the reward file on which path
//     (PROTOCOL §6: always-reward, reward-abort, verifier-downloads,
//     verifier-agent-writable).
//   - [Solution] says what solve.sh does (PROTOCOL §6: stub-oracle,
//     oracle-downloads, oracle-reads-verifier).
//
// # What is assumed
//
// The model never guesses a value, but it has to take a few things for given:
//
//   - ${NAME:-default} of a variable that the script does not set names the
//     default. Such a word is marked [Word.Assumed] and never decides a branch.
//   - Programs that a script starts write a reward only when they are given its
//     path, except files run from the verifier's directories, which make claims
//     uncertain.
//   - A test runner (pytest and its kin) writes no reward itself.
//   - A file that is sourced changes no variable that the script uses.
//   - A loop over unknown items runs zero times, once or twice; inside another
//     one, zero times or once.
//   - cd succeeds, and so do tools that practically always do (rm -f, mkdir -p,
//     tee, echo): they never end a script under set -e.
//
// When a script exceeds the bounds of the model (size, nesting, steps), Truncated
// is set and every claim about all paths is withdrawn.
package shell
