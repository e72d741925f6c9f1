// Package tui is the organizer's dashboard (PROTOCOL §17): a terminal program
// that is a client of the arena's HTTP API and of nothing else.
//
// # How it hangs together
//
// The root Model is the only Bubble Tea model. It holds a stack of pages, each a
// screen.Screen, and everything that is not about one screen: the tabs, the key
// dispatch, what lies over a screen (question, palette, help), what is said in the
// last line, decisions that wait to be sent, and the data.
//
//	key      screen.Keys finds the intent in the live scopes; the root or the page
//	         on top acts on it. No code compares a key with a string.
//	data     screen.Data keeps the last answer to every request. After each message
//	         the root asks the page on top what it shows (Needs), and asks the arena
//	         for what is missing or too old. Answers carry the number of their
//	         request, and late ones are dropped.
//	events   wake: an event marks answers as changed, which has them asked for
//	         again. Without the stream the same answers are polled.
//	action   a command that ends in screen.Changed. Nothing shows as done before
//	         the arena has said so.
//
// Update and View touch no network, disk or clock: calls are commands made by
// World.Do, waiting is World.After, and the time is the last beat. What is drawn
// depends on the model alone, so equal models draw equal frames, and Bubble Tea
// writes nothing when a frame is the one before.
//
// # Adding a screen
//
// Add its place to nav, its keys to screen/keys.go, what it reads to
// screen/sources.go, a file to screen with its model, and a line to screen.New.
package tui
