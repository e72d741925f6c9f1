package gates

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

// credential is one form of a secret. Only forms that their issuer made recognisable are listed: a prefix, an exact
// length and alphabet. The prefix is searched first, which is many times faster than a pattern over the whole file.
type credential struct {
	what    string
	prefix  string
	pattern *regexp.Regexp    // anchored at the prefix
	real    func([]byte) bool // tells a match from a made-up one
}

// encoded accepts every match: the text of a private key begins with fixed, regular bytes.
func encoded(match []byte) bool { return match != nil }

var (
	awsKey        = regexp.MustCompile(`^(?:AKIA|ASIA)[A-Z2-7]{16}\b`)
	githubToken   = regexp.MustCompile(`^gh[pousr]_[A-Za-z0-9]{36}\b`)
	githubPAT     = regexp.MustCompile(`^github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b`)
	gitlabToken   = regexp.MustCompile(`^glpat-[A-Za-z0-9_-]{20}\b`)
	hubToken      = regexp.MustCompile(`^hf_[A-Za-z]{34}\b`)
	slackToken    = regexp.MustCompile(`^xox[bp]-[0-9]{10,13}-[0-9]{10,13}-[A-Za-z0-9-]{24,}`)
	googleKey     = regexp.MustCompile(`^AIza[A-Za-z0-9_-]{35}\b`)
	stripeKey     = regexp.MustCompile(`^[rs]k_live_[A-Za-z0-9]{24,99}\b`)
	npmToken      = regexp.MustCompile(`^npm_[A-Za-z0-9]{36}\b`)
	pypiToken     = regexp.MustCompile(`^pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}`)
	anthropicKey  = regexp.MustCompile(`^sk-ant-api[0-9]{2}-[A-Za-z0-9_-]{90,}`)
	openAIKey     = regexp.MustCompile(`^sk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}`)
	privateKeyPEM = regexp.MustCompile(`^-----BEGIN (?:RSA |EC |DSA |OPENSSH |ENCRYPTED )?PRIVATE KEY-----\r?\n(?:[A-Za-z-]+: [^\n]*\n|\r?\n)*(?:[A-Za-z0-9+/=]{40,}\r?\n){2}`)
)

func credentials() []credential {
	return []credential{
		{"an AWS access key id", "AKIA", awsKey, random},
		{"a temporary AWS access key id", "ASIA", awsKey, random},
		{"a GitHub token", "ghp_", githubToken, random},
		{"a GitHub token", "gho_", githubToken, random},
		{"a GitHub token", "ghu_", githubToken, random},
		{"a GitHub token", "ghs_", githubToken, random},
		{"a GitHub token", "ghr_", githubToken, random},
		{"a GitHub token", "github_pat_", githubPAT, random},
		{"a GitLab token", "glpat-", gitlabToken, random},
		{"a Hugging Face token", "hf_", hubToken, random},
		{"a Slack token", "xoxb-", slackToken, random},
		{"a Slack token", "xoxp-", slackToken, random},
		{"a Google API key", "AIza", googleKey, random},
		{"a Stripe live key", "sk_live_", stripeKey, random},
		{"a Stripe live key", "rk_live_", stripeKey, random},
		{"an npm token", "npm_", npmToken, random},
		{"a PyPI token", "pypi-AgEI", pypiToken, random},
		{"an Anthropic API key", "sk-ant-api", anthropicKey, random},
		{"an OpenAI API key", "sk-", openAIKey, random},
		{"a private key", "-----BEGIN ", privateKeyPEM, encoded},
	}
}

// secret looks for credentials in every text file. One finding a file and form is enough; the message never repeats
// what was found.
func secret(_ *batch, s *subject) []report.Finding {
	var found []report.Finding
	forms := credentials()
	for _, e := range s.Files {
		if e.Kind != task.File {
			continue
		}
		text, err := s.ReadText(e.Path)
		if err != nil || isBinary(text) {
			continue // too large or unreadable files are not inspected
		}
		for _, form := range forms {
			at := form.find(text)
			if at < 0 {
				continue
			}
			line := 1 + bytes.Count(text[:at], []byte("\n"))
			start := bytes.LastIndexByte(text[:at], '\n') + 1
			f := s.finding("secret", e.Path, line, fmt.Sprintf("the file holds what looks like %s", form.what))
			f.Column = 1 + utf8.RuneCount(text[start:at])
			found = append(found, f)
		}
	}
	return found
}

// find returns the offset of the first credential of this form, or −1.
func (c credential) find(text []byte) int {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(c.prefix))
		if i < 0 {
			return -1
		}
		from += i
		if (from == 0 || !wordByte(text[from-1])) && c.real(c.pattern.Find(text[from:min(len(text), from+8192)])) {
			return from
		}
		from += len(c.prefix)
	}
}

func wordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}

// random tells a credential from one that a person made up. A real one has many different characters, does not say
// that it is an example, and its letters and digits do not follow each other: nobody types 24 random characters, but
// everybody types a1b2c3.
func random(match []byte) bool {
	upper := bytes.ToUpper(match)
	for _, word := range []string{"EXAMPL", "PLACEHOLDER", "DUMMY", "SECRET", "XXXX", "0000000", "1234567", "ABCDEFG"} {
		if bytes.Contains(upper, []byte(word)) {
			return false
		}
	}
	var different [256]bool
	count := 0
	for _, b := range match {
		if !different[b] {
			different[b] = true
			count++
		}
	}
	return count >= 12 && neighbours(upper, 'A', 'Z') < 0.35 && neighbours(upper, '0', '9') < 0.65
}

// neighbours is the share of steps between successive characters of an alphabet, skipping all others, that stay or
// go to the next or previous character: about 0.11 for random letters and 0.28 for random digits. Too few characters
// say nothing and count as 0.
func neighbours(s []byte, low, high byte) float64 {
	steps, near, last := 0, 0, -1
	for _, b := range s {
		if b < low || b > high {
			continue
		}
		if last >= 0 {
			steps++
			if d := int(b) - last; -1 <= d && d <= 1 {
				near++
			}
		}
		last = int(b)
	}
	if steps < 6 {
		return 0
	}
	return float64(near) / float64(steps)
}

// isBinary is git's test: a zero byte near the beginning.
func isBinary(text []byte) bool {
	return bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0
}
