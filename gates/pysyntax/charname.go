package pysyntax

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/runenames"
)

// namedCharacter resolves the "{NAME}" at the start of s and returns its size,
// 0 if there is no such character.
func (p *parser) namedCharacter(s string) (r rune, size int) {
	end := strings.IndexByte(s, '}')
	if end < 2 || s[0] != '{' {
		return 0, 0
	}
	name := strings.ToUpper(s[1:end])
	r, ok := algorithmicName(name)
	if !ok {
		if p.charNames == nil {
			p.charNames = characterNames()
		}
		if r, ok = p.charNames[name]; !ok {
			return 0, 0
		}
	}
	return r, end + 1
}

// characterNames builds the table of all characters that have a name of their
// own. It takes some milliseconds, and few files ask for it.
func characterNames() map[string]rune {
	// Between these ranges lie ideographs, syllables, surrogates and private
	// characters, which are named by rule or not at all.
	ranges := [...][2]rune{
		{0, 0x33ff},
		{0x4dc0, 0x4dff},
		{0xa000, 0xabff},
		{0xd7b0, 0xd7ff},
		{0xf900, 0x16fff},
		{0x18b00, 0x1ffff},
		{0x2f800, 0x2fa1f},
		{0xe0000, 0xe01ff},
	}
	names := make(map[string]rune, 1<<16)
	for _, bounds := range ranges {
		for r := bounds[0]; r <= bounds[1]; r++ {
			if name := runenames.Name(r); name != "" && name[0] != '<' {
				names[name] = r
			}
		}
	}
	for line := range strings.Lines(nameAliases) {
		code, aliases, _ := strings.Cut(strings.TrimSpace(line), " ")
		if r, ok := hexValue(code, len(code)); ok {
			for alias := range strings.SplitSeq(aliases, ";") {
				names[alias] = r
			}
		}
	}
	for i := range rune(256) { // variation selectors
		r := 0xfe00 + i
		if i >= 16 {
			r = 0xe0100 + i - 16
		}
		names["VS"+strconv.Itoa(int(i)+1)] = r
	}
	return names
}

// algorithmicName resolves the names that Unicode derives from code points.
func algorithmicName(name string) (rune, bool) {
	if digits, ok := strings.CutPrefix(name, "CJK UNIFIED IDEOGRAPH-"); ok {
		r, ok := hexValue(digits, len(digits))
		ok = ok && (len(digits) == 4 || len(digits) == 5)
		return r, ok && unicode.Is(unicode.Unified_Ideograph, r)
	}
	syllable, ok := strings.CutPrefix(name, "HANGUL SYLLABLE ")
	if !ok {
		return 0, false
	}
	return hangulSyllable(syllable)
}

// hangulSyllable composes a syllable from the romanization of its parts, by
// trying each split that the lead consonants allow.
func hangulSyllable(s string) (rune, bool) {
	leads := strings.Split("G GG N D DD R M B BB S SS  J JJ C K T P H", " ")
	vowels := strings.Split("A AE YA YAE EO E YEO YE O WA WAE OE YO U WEO WE WI YU EU YI I", " ")
	tails := strings.Split(" G GG GS N NJ NH D L LG LM LB LS LT LP LH M B BS S SS NG J C K T P H", " ")
	for i, lead := range leads {
		rest, ok := strings.CutPrefix(s, lead)
		if !ok {
			continue
		}
		for j, vowel := range vowels {
			tail, ok := strings.CutPrefix(rest, vowel)
			if !ok {
				continue
			}
			for k := range tails {
				if tails[k] == tail {
					return rune(0xac00 + (i*len(vowels)+j)*len(tails) + k), true
				}
			}
		}
	}
	return 0, false
}
