package shell

import "strings"

// Word is a string of the script after expansion.
type Word struct {
	// Text is the value. Parts that cannot be known stand as the script has
	// them, for example "$HOME/notes.txt".
	Text string
	// Known says that every part of Text is constant.
	Known bool
	// Assumed says that a constant stands in for an environment variable that
	// the script itself does not set: ${OUT:-/app} is "/app", assumed.
	Assumed bool
	// Glob says that Text holds an unquoted *, ? or [ and is a pattern.
	Glob bool
}

// Const returns the text if it is constant and not a pattern.
func (w Word) Const() (string, bool) {
	return w.Text, w.Known && !w.Glob
}

// String returns the text, known or not.
func (w Word) String() string { return w.Text }

// literal is a word that is certainly s.
func literal(s string) Word { return Word{Text: s, Known: true} }

// opaque is a word of which only the source text is known.
func opaque(source string) Word { return Word{Text: source} }

// join returns the concatenation of two words.
func join(a, b Word) Word {
	return Word{
		Text:    a.Text + b.Text,
		Known:   a.Known && b.Known,
		Assumed: a.Assumed || b.Assumed,
		Glob:    a.Glob || b.Glob,
	}
}

// builder joins words without copying what it has already.
type builder struct {
	first value // kept whole: an exit status stays one if nothing is added to it
	text  strings.Builder
	word  Word // all but the text
	parts int
}

// add appends a word; beyond maxWordBytes the whole is no longer known.
func (b *builder) add(v value) {
	switch b.parts++; b.parts {
	case 1:
		b.first, b.word = v, v.Word
		return
	case 2:
		b.text.WriteString(b.first.Text)
	}
	if b.text.Len()+len(v.Text) > maxWordBytes {
		b.word.Known = false
		return
	}
	b.text.WriteString(v.Text)
	b.word.Known = b.word.Known && v.Known
	b.word.Assumed = b.word.Assumed || v.Assumed
	b.word.Glob = b.word.Glob || v.Glob
}

// value returns the joined word; it is empty if nothing was added.
func (b *builder) value() value {
	switch b.parts {
	case 0:
		return str("")
	case 1:
		return b.first
	}
	return value{Word: withText(b.word, b.text.String())}
}

// value is what a state knows about a variable, an exit status or the content
// of a file: a word, and for exit statuses what decides them.
type value struct {
	Word
	// sym names an exit status that is still open; 0 for every other value.
	sym int
	// inverted says that this status is zero when sym is not.
	inverted bool
	// failed marks an exit status that is some number other than 0.
	failed bool
	// match says that a pattern stands for each file that it matches, also in quotes.
	match bool
	// list holds the elements of an array; nil for a scalar.
	list []value
}

func str(s string) value          { return value{Word: literal(s)} }
func unknown(source string) value { return value{Word: opaque(source)} }
func success() value              { return str("0") }
func failure() value              { return value{Word: opaque("$?"), failed: true} }
func open(sym int) value          { return value{Word: opaque("$?"), sym: sym} }

// verdict is the answer of a condition.
type verdict int

const (
	undecided verdict = iota
	yes
	no
)

func (v verdict) not() verdict {
	switch v {
	case yes:
		return no
	case no:
		return yes
	}
	return undecided
}

func verdictOf(b bool) verdict {
	if b {
		return yes
	}
	return no
}

// status turns a verdict into an exit status; sym is used while it is open.
func (v verdict) status(sym int) value {
	switch v {
	case yes:
		return success()
	case no:
		return str("1")
	}
	return open(sym)
}

// succeeded says whether v, read as an exit status, is zero.
func (v value) succeeded() verdict {
	switch {
	case v.sym != 0:
		return undecided
	case v.failed:
		return no
	case v.Known:
		return verdictOf(v.Text == "0")
	}
	return undecided
}

// not turns an exit status around; fresh names one that nothing else is known about.
func (v value) not(fresh int) value {
	switch {
	case v.sym != 0:
		v.inverted = !v.inverted
		return v
	case v.succeeded() == undecided:
		return open(fresh)
	}
	return v.succeeded().not().status(fresh)
}

// certain returns the text of a constant that may decide a branch.
func (v value) certain() (string, bool) {
	return v.Text, v.Known && !v.Assumed && v.list == nil
}

// equal says whether two values are interchangeable in a state.
func (v value) equal(o value) bool {
	if v.Word != o.Word || v.sym != o.sym || v.inverted != o.inverted || v.failed != o.failed || v.match != o.match || len(v.list) != len(o.list) {
		return false
	}
	for i := range v.list {
		if !v.list[i].equal(o.list[i]) {
			return false
		}
	}
	return true
}

// key appends a text to b that two values share only if they are equal.
func (v value) key(b *strings.Builder) {
	flags := byte('0')
	for i, set := range []bool{v.Known, v.Assumed, v.Glob, v.failed, v.inverted, v.match} {
		if set {
			flags += 1 << i
		}
	}
	b.WriteByte(flags)
	if v.sym != 0 {
		b.WriteString("?" + itoa(v.sym))
	}
	b.WriteString(v.Text)
	b.WriteByte(0)
	for _, e := range v.list {
		b.WriteByte(1)
		e.key(b)
	}
}
