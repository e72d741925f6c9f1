// Package relay carries calls to a model that runs inside a GPU job which nobody
// can dial.
//
// The job dials the arena (Job) and speaks HTTP/2 as a server on that connection;
// the arena (Hub) is the client of it and hands on what sandboxes ask of
// /relay/RUN/v1/…, an interface in OpenAI's form. HTTP/2 gives each call its own
// flow control and its own cancellation, so one reader that stalls holds up nobody
// and a sandbox that leaves stops the generation. Answers pass through as they come.
//
// Nothing is ever repeated, not even a GET: fetching log probabilities destroys
// what it returns (reference/hub-apis.md, R4). Two secrets of a run, of which the
// arena keeps hashes, open the tunnel and call the model; both die with the run. A
// call that breaks is answered as an error before its first byte and aborted after
// it, never ended as if it were whole.
package relay
