// Package client calls an arena over HTTP: one method per row of api.Routes,
// with typed answers that keep the server's bytes, the retry rules of PROTOCOL
// §3 and §16, streams that resume, and uploads of directories.
//
// A token leaves the process in one place only, the Authorization header of a
// request to the configured arena: plain http is refused except to the local
// machine, redirects are never followed, and a Token prints as [redacted]
// wherever it might end up.
//
// Failures are *protocol.Error throughout, so errors.Is(err,
// protocol.ErrDailyLimit) holds here as it does in the server. What the arena
// answered is an *AnswerError around one, with the problem's own bytes; what
// never became an answer is one of the Err… values of this package.
package client
