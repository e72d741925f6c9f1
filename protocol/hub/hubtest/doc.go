// Package hubtest holds fakes of the services that collections and identities
// come from, on real sockets, and the suite that every source of collections has
// to pass.
//
// A fake keeps the facts of reference/hub-apis.md; its comment names them by their
// ids, and a test checks each against the fake. It is not kinder than the real
// service: a request that that would refuse fails the test. Every fake can be told
// to go wrong: on the n-th call of a route a Fault takes the place of the answer,
// or spoils it. Others extend a fake with routes of their own through Handle, as
// the fakes of job services do on the hub's host.
package hubtest
