// Command arena is PostTrain Arena in one binary: the server, and the command
// line that agents and people use to take part.
//
// # Streams
//
// A client verb writes exactly one JSON document to standard output, on success
// the API's answer byte for byte and on failure the problem, so that a program
// never has to read prose. Everything for people goes to standard error. The
// exceptions are verbs made for pipes: token create prints the token, log prints
// a run's lines as they are (with --json one object a line), and completion
// prints a script.
//
// # Exit codes
//
//	0    it worked; a preflight allows the run
//	1    an error answer, the network, or an answer of no: an invalid
//	     collection, a run that was waited for and did not score
//	2    usage: an unknown command or flag, a file or address that cannot be used
//	3    a preflight says that the run is not allowed
//	130  interrupted
//
// They are decided from error types in exit.go and nowhere else.
//
// # Layout
//
// There is one file per verb group, named after the noun as in the other rooms,
// with the group's part of the grammar and its Run methods. environ.go holds
// everything that a verb may know of the process; nothing else reads it. What a
// verb says to people is a function from an answer to lines (summary.go and the
// …Lines functions), so that it can be tested as text.
package main
