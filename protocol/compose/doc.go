// Package compose turns configuration fragments into what the arena works with:
// the rows of all challenges and the training pipeline's config of one run.
//
// A challenge names a model, a method and suites (configs/challenges). compose
// puts them together, says what about the result is invented, and refuses what
// cannot work: amounts that are no amounts, recipes that the pipeline would
// reject, GPU layouts that do not fit the hardware. A layout that cannot work
// does not stop the arena: the challenge is listed with the reason, and preflight
// fails on it.
//
// It also reads sealed suites from wherever a suite fragment says they are; see
// [ReadSealedSuite].
package compose
