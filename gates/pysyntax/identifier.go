package pysyntax

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// invalidInIdentifier returns the offset of the first rune that may not stand
// where it does in an identifier (PEP 3131), or -1.
func invalidInIdentifier(s string) int {
	for i, r := range s {
		switch {
		case r == utf8.RuneError:
			return i
		case r < utf8.RuneSelf:
			// The lexer admits only letters, digits and underscores.
		case i == 0 && !isXIDStart(r), i > 0 && !isXIDContinue(r):
			return i
		}
	}
	return -1
}

// normalizeIdentifier returns the form under which Python compares names.
func normalizeIdentifier(s string) string { return norm.NFKC.String(s) }

// isXIDStart and isXIDContinue derive the Unicode properties of these names:
// those of ID_Start and ID_Continue that stay so under NFKC.
func isXIDStart(r rune) bool {
	if !isIDStart(r) {
		return false
	}
	for i, c := range norm.NFKC.String(string(r)) {
		if i == 0 && !isIDStart(c) || i > 0 && !isIDContinue(c) {
			return false
		}
	}
	return true
}

func isXIDContinue(r rune) bool {
	if !isIDContinue(r) {
		return false
	}
	for _, c := range norm.NFKC.String(string(r)) {
		if !isIDContinue(c) {
			return false
		}
	}
	return true
}

func isIDStart(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start)
}

func isIDContinue(r rune) bool {
	return isIDStart(r) ||
		unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
}
