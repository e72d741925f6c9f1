// Package pyfacts reads from the syntax tree of a Python test file what the
// test asserts, reads, skips and depends on. It never runs anything.
//
// [Collect] states facts; whether a fact is a fault is for the gates to judge.
// The facts are those that a careful reader finds without running the file:
// names are followed through assignments, parameters through the calls in the
// same file, fixtures through the parameters that ask for them, and paths
// through joins, concatenation and formatting. What cannot be known is marked
// [Unknown] and never guessed; if there are several possibilities, each is
// listed.
//
// The work is bounded: a file has a budget of evaluation steps, and what lies
// beyond it is unknown too.
package pyfacts
