// Package celltext turns text into terminal cells: rows that are exactly as wide
// as was asked, whatever the text holds. Everything in the dashboard that shows a
// word which the dashboard did not write goes through it: log lines, task names,
// notes, titles.
//
// # Clean text
//
// Clean makes a text safe and measurable. What a terminal would obey (escape
// sequences, control characters) is dropped or shown as a symbol, what would
// reorder a row without being seen (bidirectional controls) is shown as U+FFFD,
// tabs become spaces, invalid bytes become U+FFFD. What only some terminals draw
// as one glyph is taken apart, because a row whose width depends on the terminal
// shifts every border after it: joined emoji become their parts, skin tones and
// variation selectors are dropped, flags become their two letters.
//
// Every function here cleans what it is given, which costs nothing for printable
// ASCII and changes nothing in text that is clean already. What they return may
// be put side by side: it never starts with a mark that would join the cell
// before it (only letters of decomposed Hangul still join others). Styles are applied afterwards, to whole results; only FitStyled
// takes text that has styles in it.
//
// # Width
//
// The unit is the column as the renderer counts it (the grapheme measure of
// charmbracelet/x/ansi), so that what is exact here is not cut there. Characters
// of ambiguous width count as one column unless the environment says otherwise;
// every widget then looks right in its ASCII variant only. Scripts whose vowel signs and conjuncts take columns of their own
// in some terminals and none in others (Devanagari and its relatives) are left
// readable and measured as the renderer does.
package celltext
