// Package outbound sends requests to the services that the arena depends on.
//
// It is what every client of such a service needs and the standard client does
// not give: a token that never follows a redirect to another origin, a limit on
// everything that is read, tries that are repeated only where repeating is
// harmless, waits that the service asked for, and errors that say what was being
// done, by whom it was refused and whether the request had left at all, without a
// URL, a header or a token in them. What a refusal means is for the client of the
// service to say.
package outbound
