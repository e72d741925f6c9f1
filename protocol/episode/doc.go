// Package episode is the conversation with whoever plays an episode of one task:
// a server of the OpenEnv protocol that runs inside the task's image (PROTOCOL
// §15).
//
// # The wire
//
// A client opens a WebSocket at /ws and sends JSON objects, one a text frame,
// each answered by one:
//
//	{"type":"reset","data":{"task_id":"…"}}                     observation
//	{"type":"step","data":{"operation":"shell","command":"…"}}  observation
//	{"type":"step","data":{"operation":"finish"}}               observation, done, reward
//	{"type":"state"}                                            state
//	{"type":"close"}                                            nothing; the server closes
//
// An observation is {"observation":{…},"reward":…,"done":…}. What cannot be done
// is answered with {"type":"error"} and the session stays open. Beside it stand
// the HTTP routes that an OpenEnv validator asks for: /health, /metadata, /schema,
// /openapi.json, /mcp, and /reset, /step, /state, each of which is an environment
// of its own that ends with the answer.
//
// # Concurrency
//
// A container is one world with one tree of files, so one session at a time plays
// in it. A second connection is accepted, told CAPACITY_REACHED and closed; an
// HTTP reset or step meanwhile is a 503. The place is free again when the first
// connection has closed, in order or not, and its processes are dead. Play more
// episodes at once with more containers.
//
// # The world
//
// Sandbox is the real one. The agent is uid 2000. The server is root and holds
// /opt/arena, which nobody else may enter: the instance file, the hidden tests,
// this binary, and a copy of every place that the agent can write to, taken before
// the agent's first step. A reset kills the agent's processes and puts all these
// places back, contents, owners, modes and times. To finish an episode, the server
// kills the agent's processes, those of a repository's hooks too, looks whether
// guarded files changed, shows the hidden tests as /tests and runs the verifier as
// uid 2000, so that whatever the agent left to be run (hooks, plugins, modules)
// runs with no more rights than the agent had. Then tests and logs vanish again.
// The first reward of an episode is its only one.
//
// What a verifier executes of the agent's inside its own process can say what the
// verifier says. The server keeps the agent from the tests, from the reward's
// folder before grading and from files that are loaded unasked; a verifier that
// imports the agent's module has to look at it from outside to be sure.
package episode
