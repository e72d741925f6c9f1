package configs

import (
	"regexp"
	"strings"
)

// maxVariable bounds the name of an environment variable, in bytes.
const maxVariable = 100

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// IsVariable reports whether a text is what an environment variable may be called
// (POSIX). What has the form of a token is not: the tokens of some services would
// be good names, and whoever writes one in the place of a name has made a mistake
// that must not be repeated in an error.
func IsVariable(name string) bool {
	if !variable.MatchString(name) || len(name) > maxVariable {
		return false
	}
	for _, prefix := range []string{"hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "arena_"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && len(rest) >= 20 && strings.ToLower(rest) != rest {
			return false
		}
	}
	return true
}
