package look

import (
	"strconv"
	"strings"

	"github.com/muesli/termenv"
)

// Detect reads what the terminal can show from the environment. It asks the
// terminal nothing: a question that nobody answers would hold up the start, and
// tmux and screen answer for a terminal that may be another one tomorrow.
//
// The variables are NO_COLOR, COLORTERM, TERM, COLORFGBG (its last number is the
// background's colour), the locale's LC_ALL, LC_CTYPE and LANG, and ARENA_THEME
// (light or dark), which decides where the others do not.
func Detect(getenv func(string) string) Options {
	return Options{Profile: profile(getenv), Light: light(getenv), ASCII: !utf8Locale(getenv)}
}

func profile(getenv func(string) string) termenv.Profile {
	term, depth := getenv("TERM"), strings.ToLower(getenv("COLORTERM"))
	switch {
	case getenv("NO_COLOR") != "", term == "dumb":
		return termenv.Ascii
	case depth == "truecolor", depth == "24bit", strings.HasSuffix(term, "-direct"):
		return termenv.TrueColor
	case strings.Contains(term, "256color"), depth == "yes", depth == "true":
		return termenv.ANSI256
	case term == "":
		return termenv.Ascii
	default:
		return termenv.ANSI
	}
}

// light reports whether the background is light, dark when nothing says so.
func light(getenv func(string) string) bool {
	switch getenv("ARENA_THEME") {
	case "light":
		return true
	case "dark":
		return false
	}
	colours := strings.Split(getenv("COLORFGBG"), ";")
	n, err := strconv.Atoi(colours[len(colours)-1])
	return err == nil && (n == 7 || n >= 9 && n <= 15)
}

// utf8Locale reports whether the locale's characters are UTF-8: the first of the
// three variables that is set decides, as in POSIX.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
