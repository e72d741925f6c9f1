// Package look turns meanings into colours, attributes and shapes.
//
// Code that draws names a Tone or a glyph by what it means; which bytes that
// becomes depends on the terminal alone. No meaning has only a colour: a state
// is a shape and a word as well, so that nothing is lost without colours or in
// plain ASCII.
package look

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Tone is what a piece of text means.
type Tone int

// The tones.
const (
	Plain  Tone = iota
	Dim         // labels, units, what is only context
	Faint       // rules, empty parts of bars
	Strong      // names and numbers to look at first
	Accent      // the place where the person is
	Good        // passed, accepted, healthy
	Warn        // waits for somebody, stale, doubtful
	Bad         // failed, rejected, broken
	Note        // simulated, invented
	Key         // a key that can be pressed
	Select      // the row under the cursor
	Match       // what a search found
	tones
)

// Options says what the terminal can show.
type Options struct {
	Profile termenv.Profile // how many colours; Ascii is none
	Light   bool            // the background is light
	ASCII   bool            // no character beyond ASCII
}

// Theme draws tones and glyphs for one terminal. The zero value draws plain
// text; New makes others. It is safe for concurrent use.
type Theme struct {
	Glyphs
	options Options
	styles  [tones]lipgloss.Style
	open    [tones]string // the sequence that starts a tone; empty for none
}

// Reset ends every tone.
const Reset = "\x1b[0m"

// New makes the theme of a terminal.
func New(o Options) Theme {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(o.Profile)
	r.SetHasDarkBackground(!o.Light)
	t := Theme{Glyphs: unicodeGlyphs(), options: o}
	if o.ASCII {
		t.Glyphs = asciiGlyphs()
	}
	for tone := range tones {
		t.styles[tone] = styleOf(r, tone, o)
		// What the style writes before a letter is the sequence that starts it.
		if before, _, ok := strings.Cut(t.styles[tone].Render("x"), "x"); ok {
			t.open[tone] = before
		}
	}
	return t
}

// ASCII reports whether only ASCII may be drawn.
func (t Theme) ASCII() bool { return t.options.ASCII }

// Colour reports whether there are colours.
func (t Theme) Colour() bool { return t.options.Profile != termenv.Ascii }

// Style is a tone for widgets that take lipgloss styles.
func (t Theme) Style(tone Tone) lipgloss.Style { return t.styles[tone] }

// Paint draws text in a tone. The text must hold no escape sequence.
func (t Theme) Paint(tone Tone, text string) string {
	if text == "" || t.open[tone] == "" {
		return text
	}
	return t.open[tone] + text + Reset
}

// Over draws a row that is already painted in a tone underneath: wherever an
// inner tone ends, the outer one starts again.
func (t Theme) Over(tone Tone, row string) string {
	open := t.open[tone]
	if open == "" {
		return row
	}
	return open + strings.ReplaceAll(row, Reset, Reset+open) + Reset
}

// styleOf is a tone's style. Without colours, what needs the eye is bold or
// reversed instead.
func styleOf(r *lipgloss.Renderer, tone Tone, o Options) lipgloss.Style {
	s := r.NewStyle()
	if o.Profile == termenv.Ascii {
		// lipgloss drops attributes together with colours; both are kept apart here.
		return attributes(tone)
	}
	c := palette(o.Light)[tone]
	if c.fore != nil {
		s = s.Foreground(*c.fore)
	}
	if c.back != nil {
		s = s.Background(*c.back)
	}
	return s.Bold(c.bold)
}

// attributes is a tone without colour. Its renderer has a profile with colours,
// of which it uses none.
func attributes(tone Tone) lipgloss.Style {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	r.SetHasDarkBackground(true)
	s := r.NewStyle()
	switch tone {
	case Strong, Accent, Bad, Warn, Key:
		return s.Bold(true)
	case Dim, Faint:
		return s.Faint(true)
	case Select, Match:
		return s.Reverse(true)
	default:
		return s
	}
}

// colours is how a tone looks where there are colours.
type colours struct {
	fore, back *lipgloss.CompleteColor
	bold       bool
}

// palette is the colours of each tone on a dark or a light background. The
// third value of a colour is for terminals with sixteen of them.
func palette(light bool) [tones]colours {
	c := func(trueColor, ansi256, ansi string) *lipgloss.CompleteColor {
		return &lipgloss.CompleteColor{TrueColor: trueColor, ANSI256: ansi256, ANSI: ansi}
	}
	if light {
		return [tones]colours{
			Dim:    {fore: c("#5f6672", "241", "8")},
			Faint:  {fore: c("#b6bcc6", "250", "7")},
			Strong: {fore: c("#1b1f27", "234", "0"), bold: true},
			Accent: {fore: c("#2456a6", "25", "4"), bold: true},
			Good:   {fore: c("#2f7a2c", "28", "2")},
			Warn:   {fore: c("#8a5a00", "94", "3")},
			Bad:    {fore: c("#b3261e", "124", "1")},
			Note:   {fore: c("#7a3e9d", "91", "5")},
			Key:    {fore: c("#2456a6", "25", "4")},
			Select: {back: c("#dbe6f7", "189", "7")},
			Match:  {fore: c("#1b1f27", "234", "0"), back: c("#ffe08a", "222", "3")},
		}
	}
	return [tones]colours{
		Dim:    {fore: c("#8b93a3", "245", "7")},
		Faint:  {fore: c("#4a5160", "239", "8")},
		Strong: {fore: c("#e6e9ef", "255", "15"), bold: true},
		Accent: {fore: c("#7fb2f0", "111", "12"), bold: true},
		Good:   {fore: c("#8fc46b", "114", "10")},
		Warn:   {fore: c("#e3b25c", "179", "11")},
		Bad:    {fore: c("#ef7a7a", "210", "9")},
		Note:   {fore: c("#c39be6", "183", "13")},
		Key:    {fore: c("#7fb2f0", "111", "12")},
		Select: {back: c("#26344a", "237", "4")},
		Match:  {fore: c("#1b1f27", "234", "0"), back: c("#e3b25c", "179", "11")},
	}
}
