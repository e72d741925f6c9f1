package pysyntax

// kind is the kind of a token. Operators and keywords have a kind each, so that
// the parser never compares text except for soft keywords.
type kind uint8

const (
	tEOF kind = iota
	tNewline
	tIndent
	tDedent
	tName
	tNumber
	tString
	tFStringStart  // an f-string or t-string: prefix and opening quotes
	tFStringMiddle // literal text inside one
	tFStringEnd

	tLParen
	tRParen
	tLBracket
	tRBracket
	tLBrace
	tRBrace
	tComma
	tColon
	tSemicolon
	tDot
	tEllipsis
	tEqual
	tColonEqual
	tArrow
	tExclamation // only before the conversion in a replacement field

	// Binary operators, in order of Operator.
	tPlus
	tMinus
	tStar
	tAt
	tSlash
	tPercent
	tDoubleStar
	tLeftShift
	tRightShift
	tVBar
	tCaret
	tAmp
	tDoubleSlash

	// Augmented assignments, in the same order.
	tPlusEqual
	tMinusEqual
	tStarEqual
	tAtEqual
	tSlashEqual
	tPercentEqual
	tDoubleStarEqual
	tLeftShiftEqual
	tRightShiftEqual
	tVBarEqual
	tCaretEqual
	tAmpEqual
	tDoubleSlashEqual

	tTilde

	// Comparisons that are no keywords, in order of CmpOperator.
	tEqEq
	tNotEq
	tLess
	tLessEq
	tGreater
	tGreaterEq

	kFalse
	kNone
	kTrue
	kAnd
	kAs
	kAssert
	kAsync
	kAwait
	kBreak
	kClass
	kContinue
	kDef
	kDel
	kElif
	kElse
	kExcept
	kFinally
	kFor
	kFrom
	kGlobal
	kIf
	kImport
	kIn
	kIs
	kLambda
	kNonlocal
	kNot
	kOr
	kPass
	kRaise
	kReturn
	kTry
	kWhile
	kWith
	kYield
)

// Flags of name and string tokens, found while scanning.
const (
	hasEscape  uint8 = 1 << iota // a backslash
	nonASCII                     // a byte beyond ASCII
	braceTwice                   // the brace at the end stands twice in the source
)

// token is a piece of source. All tokens of a file stand in one slice.
type token struct {
	start, end Pos
	kind       kind
	flags      uint8
}

// keyword returns the kind of a name: a keyword's own, or tName.
func keyword(s string) kind {
	switch s {
	case "False":
		return kFalse
	case "None":
		return kNone
	case "True":
		return kTrue
	case "and":
		return kAnd
	case "as":
		return kAs
	case "assert":
		return kAssert
	case "async":
		return kAsync
	case "await":
		return kAwait
	case "break":
		return kBreak
	case "class":
		return kClass
	case "continue":
		return kContinue
	case "def":
		return kDef
	case "del":
		return kDel
	case "elif":
		return kElif
	case "else":
		return kElse
	case "except":
		return kExcept
	case "finally":
		return kFinally
	case "for":
		return kFor
	case "from":
		return kFrom
	case "global":
		return kGlobal
	case "if":
		return kIf
	case "import":
		return kImport
	case "in":
		return kIn
	case "is":
		return kIs
	case "lambda":
		return kLambda
	case "nonlocal":
		return kNonlocal
	case "not":
		return kNot
	case "or":
		return kOr
	case "pass":
		return kPass
	case "raise":
		return kRaise
	case "return":
		return kReturn
	case "try":
		return kTry
	case "while":
		return kWhile
	case "with":
		return kWith
	case "yield":
		return kYield
	}
	return tName
}
