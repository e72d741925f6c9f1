// Package tuitest drives the dashboard in tests, without a terminal and without
// waiting: an arena in memory (Sample, Empty), a pump that runs the commands of
// the model until nothing is left to do, keys that are typed as a person types
// them, and golden files of what shows.
//
// A Pump lives in a testing/synctest bubble. Commands run as goroutines, as they
// do under Bubble Tea, and the bubble's clock makes ticks and grace periods pass
// at once. Messages are delivered in the order in which their commands were
// started, so that every run of a test sees the same.
package tuitest
