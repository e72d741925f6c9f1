// Package api is the wire: every route, the types of its request and answer,
// and the one function per noun that turns a domain value into what a given
// caller may see.
//
// Routes is a table, and everything that must agree with it is a loop over it:
// the server's registration, /openapi.json, /api/discover, the metrics label and
// the test that the client covers every route. The code says collection, the
// wire says environment; that translation happens here and nowhere else.
package api
