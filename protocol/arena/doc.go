// Package arena is the service that keeps the protocol's promises: one method
// per verb, the watcher that follows each job, the reconciler that finds out
// what a crash left behind, and the signals that wake whoever waits.
//
// The service decides nothing that a rule in package protocol can decide, and
// writes nothing except through Store. It reads facts, asks the rule, and calls
// one Store method, which is one transaction. Everything outside the process
// (providers, code hosts) is called before or after that transaction, never
// inside it.
package arena
