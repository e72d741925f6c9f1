package celltext

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// Ink is a style reduced to what it writes around a text: for widgets that paint
// hundreds of pieces in a frame, where a lipgloss style costs microseconds each.
// The zero value paints nothing.
type Ink struct{ before, after string }

// NewInk reduces a style to its colours and attributes. Sizes, paddings, borders
// and transformations are not kept.
func NewInk(s lipgloss.Style) Ink {
	s = s.Inline(true).UnsetPadding().UnsetMargins().UnsetWidth().UnsetMaxWidth().UnsetTransform()
	before, after, ok := strings.Cut(s.Render("x"), "x")
	if !ok || strings.Contains(before+after, "x") {
		return Ink{}
	}
	return Ink{before, after}
}

// Paint draws a clean text.
func (k Ink) Paint(s string) string {
	if s == "" || k.before == "" {
		return s
	}
	return k.before + s + k.after
}

// Write paints a clean text into b.
func (k Ink) Write(b *strings.Builder, s string) {
	if s == "" || k.before == "" {
		b.WriteString(s)
		return
	}
	b.WriteString(k.before)
	b.WriteString(s)
	b.WriteString(k.after)
}
