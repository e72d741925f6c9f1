// Package screen holds the dashboard's screens, one file each: a small model, the
// keys that it understands and its view.
//
// A screen asks for data through the API interface that this package declares,
// with commands, and draws what it was given; it knows no network, disk or clock.
// Messages name what they are about, so that a late answer is dropped.
package screen
