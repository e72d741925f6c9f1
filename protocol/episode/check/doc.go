// Package check replays seed 001: it starts a task's image, plays real episodes in
// it over the WebSocket and holds every answer against what an image for episodes
// has to do. The checks run in the seed's order, carry the seed's labels and stop
// at the first that fails.
//
// The reference solution goes to the container as a shell action of the agent;
// nothing of it enters the image. Against a URL instead of an image, what can only
// be seen from inside the container is left out and named in the report.
package check
