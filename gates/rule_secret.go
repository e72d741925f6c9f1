package gates

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

// credential is one form of a secret. Only forms that their issuer made recognisable are listed: a prefix, an exact
// length and alphabet. The prefix is searched first, which is many times faster than a pattern over the whole file.
type credential struct {
	what    string
	prefix  string
	pattern *regexp.Regexp // anchored at the prefix
}

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
		{"an AWS access key id", "AKIA", awsKey},
		{"a temporary AWS access key id", "ASIA", awsKey},
		{"a GitHub token", "ghp_", githubToken},
		{"a GitHub token", "gho_", githubToken},
		{"a GitHub token", "ghu_", githubToken},
		{"a GitHub token", "ghs_", githubToken},
		{"a GitHub token", "ghr_", githubToken},
		{"a GitHub token", "github_pat_", githubPAT},
		{"a GitLab token", "glpat-", gitlabToken},
		{"a Hugging Face token", "hf_", hubToken},
		{"a Slack token", "xoxb-", slackToken},
		{"a Slack token", "xoxp-", slackToken},
		{"a Google API key", "AIza", googleKey},
		{"a Stripe live key", "sk_live_", stripeKey},
		{"a Stripe live key", "rk_live_", stripeKey},
		{"an npm token", "npm_", npmToken},
		{"a PyPI token", "pypi-AgEI", pypiToken},
		{"an Anthropic API key", "sk-ant-api", anthropicKey},
		{"an OpenAI API key", "sk-", openAIKey},
		{"a private key", "-----BEGIN ", privateKeyPEM},
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
		if (from == 0 || !wordByte(text[from-1])) && random(c.pattern.Find(text[from:min(len(text), from+8192)])) {
			return from
		}
		from += len(c.prefix)
	}
}

func wordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}

// random tells a credential from a placeholder of the same form: it needs many different characters, and does not
// say that it is an example.
func random(match []byte) bool {
	upper := strings.ToUpper(string(match))
	for _, word := range []string{"EXAMPLE", "PLACEHOLDER", "DUMMY", "XXXX", "0000000", "1234567", "ABCDEFG"} {
		if strings.Contains(upper, word) {
			return false
		}
	}
	different := map[byte]bool{}
	for _, b := range match {
		different[b] = true
	}
	return len(different) >= 12
}

// isBinary is git's test: a zero byte near the beginning.
func isBinary(text []byte) bool {
	return bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0
}
