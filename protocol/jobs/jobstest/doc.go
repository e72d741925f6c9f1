// Package jobstest is the suite that every provider of GPU jobs passes: the
// real ones and the simulated one. What it checks is what the arena's watcher
// and reconciler rely on, so a provider that passes it can be put behind an
// arena.
package jobstest
