package overlap

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalize prepares text for wordHashes: NFKC and lower case. ASCII stays as it is, since hashing lowers it. Format
// characters, such as a zero-width space or a soft hyphen, are dropped: nobody sees them, so they end no word.
func normalize(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return strings.ToLower(norm.NFKC.String(strings.Map(visible, text)))
		}
	}
	return text
}

// visible drops format characters for strings.Map.
func visible(r rune) rune {
	if unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// FoldName makes task names comparable: case and the difference between - and _ do not count.
func FoldName(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "_", "-")
}

// gramSize is the number of words in a gram (agent guide, static gates).
const gramSize = 13

// Constants of the hash: FNV-1a over the letters of a word, an odd multiplier for the polynomial over words, and a
// final mix (MurmurHash3's) that spreads every bit.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
	base      = 0x9E3779B97F4A7C15
)

func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// grams appends the sorted distinct gram hashes of text to dst.
func grams(dst []uint64, text string) []uint64 {
	var window [gramSize]uint64
	var oldest uint64 = 1 // base^(gramSize-1), the factor of the word that leaves the window
	for range gramSize - 1 {
		oldest *= base
	}
	start := len(dst)
	count, sum := 0, uint64(0)
	for word := range wordHashes(text) {
		slot := count % gramSize
		if count >= gramSize {
			sum -= window[slot] * oldest
		}
		window[slot] = word
		sum = sum*base + word
		if count++; count >= gramSize {
			dst = append(dst, mix(sum))
		}
	}
	if count > 0 && count < gramSize {
		// The number of words keeps a short text apart from every full gram and from other lengths.
		dst = append(dst, mix(sum^mix(uint64(count))))
	}
	own := dst[start:]
	slices.Sort(own)
	return dst[:start+len(slices.Compact(own))]
}

// wordHashes yields one hash for each word of text without building the words.
func wordHashes(text string) func(yield func(uint64) bool) {
	text = normalize(text)
	return func(yield func(uint64) bool) {
		h, inside := uint64(fnvOffset), false
		for i := 0; i < len(text); {
			c := text[i]
			size := 1
			switch {
			case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
				h = (h ^ uint64(c)) * fnvPrime
				inside = true
			case 'A' <= c && c <= 'Z':
				h = (h ^ uint64(c|0x20)) * fnvPrime
				inside = true
			default:
				var r rune
				if r, size = rune(c), 1; c >= utf8.RuneSelf {
					r, size = utf8.DecodeRuneInString(text[i:])
				}
				if c >= utf8.RuneSelf && wordRune(r) {
					for _, b := range []byte(text[i : i+size]) {
						h = (h ^ uint64(b)) * fnvPrime
					}
					inside = true
				} else if inside {
					if !yield(mix(h)) {
						return
					}
					h, inside = fnvOffset, false
				}
			}
			i += size
		}
		if inside {
			yield(mix(h))
		}
	}
}
