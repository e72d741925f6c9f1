// Package logview is a pane over a numbered log of any length. It holds a bounded
// window of lines and asks its owner for the others, so that a log of ten million
// lines costs as much as one that fills the window.
//
// # How it is fed
//
// Lines are numbered from 1 without gaps. The pane asks by commands that yield
// NeedTail or NeedLines; the owner reads the lines wherever they are and answers
// with a Page that repeats the request's number. Lines that arrive by themselves,
// from a stream, are a Page without a request number. Every message goes to
// Update, which returns the next command:
//
//	case logview.NeedLines:
//		return m, read(msg.After, msg.Limit) // a command that yields a logview.Page
//	case logview.Page, logview.Step:
//		m.log, cmd = m.log.Update(msg)
//
// A stream may leave lines out, when they come faster than they can be shown: the
// pane goes on at the new end, says how many lines it skipped, and reads them when
// somebody scrolls there. An owner without a stream calls SetTotal, and the pane
// asks for what is new. A Page with an error ends a request; it is made again when
// somebody moves, or when the owner calls Retry.
//
// # How it is driven
//
// Which keys exist is the owner's business: every action is a method, and returns
// the command that it needs. Long work (counting matches, searching lines that are
// not loaded) is done in pieces of a few milliseconds, each started by a Step
// message that the pane sends itself, so that input is never held up.
//
// A Model shares its window with the copies that were made of it: after a change,
// only the changed one may be used.
package logview
