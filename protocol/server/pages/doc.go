// Package pages renders what the arena shows to people, and to agents that read:
// HTML pages with their twins in Markdown, the guide, and the feed of results.
//
// Everything is made from the wire's own types, so a page can show no more than
// the interface would tell the same caller. Templates, the style sheet and the
// script are embedded; there is no build step, no inline script and no inline
// style, so that the strictest content security policy holds. Nothing here needs
// the script to be read.
package pages
