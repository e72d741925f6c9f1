// Package pysyntax parses Python 3.8 to 3.14 source in pure Go.
//
// [Parse] takes the bytes of a file, as an interpreter finds them on disk, and
// returns a [Module]: the tree that CPython's ast module would build, with the
// same node names, the same shapes and the same positions. It refuses what
// ast.parse refuses and nothing else; errors that CPython raises later, when it
// builds symbol tables or byte code (return outside a function, duplicate
// parameters, a default "except:" that is not last), are no concern of a parser
// and are accepted here as they are there.
//
// One grammar serves all versions: the newest one. [Module.Needs] says which
// version the file needs and where, so that a caller who knows the interpreter
// of a task can say "this line needs Python 3.12".
//
// # How it works
//
// The source is decoded (byte order mark, coding declaration, newlines), then
// split into one flat array of tokens, then parsed by recursive descent. Where
// the grammar cannot be decided by looking ahead (a parenthesized with
// statement, the soft keyword match) the parser tries one reading and rewinds
// to the other; each such place is tried once, so time stays linear.
//
// Nodes come from slabs and strings are slices of the decoded source, so that a
// parse does a few hundred allocations rather than one for every token.
//
// # Limits
//
// A file is at most [Options.MaxBytes] long. Brackets nest at most 200 deep and
// blocks at most 100, as in CPython, and no path from the module to a leaf is
// longer than [MaxDepth] nodes, so that a consumer may recurse without care.
// Every limit is reported as an [Error] of its own kind. Nothing panics.
//
// # Proof
//
// The tests parse every file of the standard library and of the installed
// packages of the python3 they find, with both parsers, and compare the trees.
package pysyntax
