package look

// Glyphs are the shapes that are drawn beside words. Each is one cell wide.
type Glyphs struct {
	Waiting  string // queued, has not begun
	Working  string // running
	Done     string // scored, passed, accepted
	Failed   string // failed, rejected
	Stopped  string // canceled, cut off
	Absent   string // never begun, not launched, moot
	Pending  string // waits for a person
	Alarm    string // needs a person now
	TimedOut string // ran into a limit

	Cursor string // marks the row under the cursor
	Live   string // fresh data
	Stale  string // old data
	Away   string // no data

	Rule, Wall                             string // lines
	TopLeft, TopRight, BotLeft, BotRight   string // corners
	Full, Part, Empty                      string // of a bar: spent, promised, free
	Up, Down, Rise, Fall, Same             string // scroll marks; flips of an outcome
	Ellipsis, Dot, Into, Delta, PlusMinus  string // in sentences
	Bracket, BracketTop, BracketBot, Times string // rows that cannot be told apart; a factor
	AtMost                                 string // before a bound
}

func unicodeGlyphs() Glyphs {
	return Glyphs{
		Waiting: "○", Working: "▸", Done: "✓", Failed: "✗", Stopped: "⊘", Absent: "·", Pending: "◆", Alarm: "!", TimedOut: "◷",
		Cursor: "▌", Live: "●", Stale: "◐", Away: "○",
		Rule: "─", Wall: "│", TopLeft: "╭", TopRight: "╮", BotLeft: "╰", BotRight: "╯",
		Full: "█", Part: "▒", Empty: "░",
		Up: "↑", Down: "↓", Rise: "▲", Fall: "▼", Same: "=",
		Ellipsis: "…", Dot: "·", Into: "›", Delta: "Δ", PlusMinus: "±",
		Bracket: "│", BracketTop: "╭", BracketBot: "╰", Times: "×",
		AtMost: "≤",
	}
}

func asciiGlyphs() Glyphs {
	return Glyphs{
		Waiting: "o", Working: ">", Done: "+", Failed: "x", Stopped: "/", Absent: ".", Pending: "?", Alarm: "!", TimedOut: "t",
		Cursor: ">", Live: "*", Stale: "~", Away: "o",
		Rule: "-", Wall: "|", TopLeft: "+", TopRight: "+", BotLeft: "+", BotRight: "+",
		Full: "#", Part: "=", Empty: ".",
		Up: "^", Down: "v", Rise: "^", Fall: "v", Same: "=",
		Ellipsis: "~", Dot: "-", Into: ">", Delta: "d", PlusMinus: "~",
		Bracket: "|", BracketTop: "+", BracketBot: "+", Times: "x",
		AtMost: "<",
	}
}
