// Package gates decides from files alone which tasks of a collection may train a model.
//
// [Report] is a pure function of task packages, sealed suites and options. It runs an ordered table of rules
// (rules.go) over every package; each rule is one small function in its own file, returns findings, and knows nothing
// of the others. What a finding's code means, why it matters and how to mend it is data in one place
// (catalogue.go), from which severities, default fixes, "arena gates explain" and the docs come.
//
// Parsers, not patterns: rules look at syntax trees. A file that a parser refuses becomes an "unparsed" finding and
// the remaining rules still run. The report is deterministic: its order depends on names and places only, never on
// the order of the input or on scheduling.
//
// Findings about sealed suites say that something matched and never what: participants must not learn which sealed
// task, or which words of it, are meant.
//
// To add a rule: give its code a row in the catalogue, write func(*batch, *subject) []report.Finding in a file of its
// own, and put it into the table.
package gates
