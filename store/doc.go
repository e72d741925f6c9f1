// Package store keeps everything the arena knows in one SQLite file, and owns
// every transaction on it.
//
// An exported method is one fact of life (Reserve, JobStarted, Finish) and one
// transaction: facts are read, a rule of package protocol decides, rows are
// written. The transaction that writes an effect also writes the request id
// that makes it repeatable, the audit row and the event, so that none of them
// can exist without the others. Nothing else is touched while it is open: no
// network, no files, no waiting.
//
// There is one file a noun, with the noun's columns, its scan function and its
// queries. DESIGN.md beside this file says why things are the way they are.
package store
