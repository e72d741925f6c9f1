// Package server is the arena's HTTP side: routing from the table in package
// api, identity, strict decoding, problems, caching and event streams.
//
// A handler decodes, calls the service, and encodes; it returns its failure, and
// problem.go is the one place that turns a failure into an answer. Who sees what
// is decided by the mapping functions in package api, never here.
package server
