// Package report holds what the static gates say about a collection, and writes it down.
//
// A [Report] is a value: findings, the tasks they exclude, the identity of every task, and a summary that
// [Report.Tally] derives from the first three. It is produced by package gates, stored in compact form with the
// collection, sent over the API and printed by the command line, so this package depends on none of them.
//
// The encoders ([Text], [JSON], [SARIF], [GitHub], [Markdown]) are pure functions of the report and their options.
// Everything in a report may come from a participant's files, so each encoder escapes for its own medium: a prompt
// cannot colour a terminal, a path cannot end a workflow command, a message cannot open an HTML tag.
package report
