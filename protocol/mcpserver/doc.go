// Package mcpserver offers the whole loop, from validating a collection to
// reviewing its result, as tools of the Model Context Protocol (streamable HTTP,
// specification of 2025-06-18 and later, by the official Go SDK).
//
// A tool is a call of the arena's own HTTP interface, made in this process with
// the bearer token of the request that calls the tool: identity, permissions,
// limits and refusals are those of the interface, and there is nothing that a
// tool may do and its caller may not. There are no sessions, so nothing outlives
// a request. Only the Authorization header is passed on: a browser's cookies
// never act here, which is also why the address a request came to does not
// matter.
package mcpserver
