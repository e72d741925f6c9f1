package task

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/github/go-spdx/v2/spdxexp"
	"github.com/github/go-spdx/v2/spdxexp/spdxlicenses"

	"github.com/posttrainarena/arena/gates/report"
)

// Credit is what a task declares about its author and origin in the metadata of its frontmatter. The values are
// as declared, not verified; an absent field is empty.
type Credit struct {
	AuthorName  string
	AuthorEmail string // never published
	License     string // an SPDX expression
	Category    string // one of Categories
	Origin      string // original, adapted or generated
	OriginURL   string // where an adapted task comes from
}

// Defaults are the collection's values for tasks that leave a field out (submission.yaml).
type Defaults struct {
	License string `json:"license,omitempty"`
	Origin  string `json:"origin,omitempty"`
}

// CreditIssue is one field that is missing or has an invalid value.
type CreditIssue struct {
	Field   string
	Missing bool   // otherwise the value is invalid
	Detail  string // what is wrong with an invalid value, and the suggestion
}

// notText stands for a declared value that is a list or a map; no field accepts it.
const notText = "(not text)"

// maxCredit is the longest declared value that is taken over, in bytes.
const maxCredit = 300

func creditOf(metadata Value) Credit {
	get := func(key string) string {
		v := metadata.Get(key)
		text, ok := v.AsText()
		switch {
		case v.Kind == List || v.Kind == Map:
			return notText
		case !ok:
			return ""
		}
		return strings.TrimSpace(text)
	}
	return Credit{
		AuthorName: get("author_name"), AuthorEmail: get("author_email"), License: get("license"),
		Category: get("category"), Origin: get("origin"), OriginURL: get("origin_url"),
	}
}

// With fills empty fields with the collection's defaults.
func (c Credit) With(d Defaults) Credit {
	if c.License == "" {
		c.License = d.License
	}
	if c.Origin == "" {
		c.Origin = d.Origin
	}
	return c
}

// Check returns the issues of all fields in a fixed order. It knows the rules of PROTOCOL §5; an origin_url is only
// asked for when the origin is adapted.
func (c Credit) Check() []CreditIssue {
	var issues []CreditIssue
	check := func(field, value string, required bool, wrong func(string) string) {
		switch {
		case value == "" && required:
			issues = append(issues, CreditIssue{Field: field, Missing: true})
		case value == "":
		case value == notText || len(value) > maxCredit:
			issues = append(issues, CreditIssue{Field: field, Detail: "must be one short text"})
		default:
			if detail := wrong(value); detail != "" {
				issues = append(issues, CreditIssue{Field: field, Detail: detail})
			}
		}
	}
	check("author_name", c.AuthorName, true, func(string) string { return "" })
	check("author_email", c.AuthorEmail, true, wrongEmail)
	check("license", c.License, true, wrongLicense)
	check("category", c.Category, true, wrongCategory)
	check("origin", c.Origin, true, wrongOrigin)
	check("origin_url", c.OriginURL, c.Origin == "adapted", wrongURL)
	return issues
}

// Identity returns the fields that are published with a task's content hash. Values that are not usable text, and
// links that are not web addresses, are left out.
func (c Credit) Identity(contentHash string) report.Identity {
	text := func(s string) string {
		if s == notText || len(s) > maxCredit {
			return ""
		}
		return s
	}
	id := report.Identity{
		ContentHash: contentHash, AuthorName: text(c.AuthorName), License: text(c.License),
		Category: text(c.Category), Origin: text(c.Origin),
	}
	if wrongURL(c.OriginURL) == "" {
		id.OriginURL = text(c.OriginURL)
	}
	return id
}

// Categories is the fixed list of task categories (agent guide, task credit metadata).
func Categories() []string {
	return []string{
		"software-engineering", "system-administration", "security", "scientific-computing", "data-science",
		"data-processing", "data-querying", "file-operations", "debugging", "machine-learning", "model-training",
		"mathematics", "optimization", "games", "personal-assistant", "video-processing", "tool-use", "other",
	}
}

// domainCategory gives the closest category for the domains that the starting kit's template names instead.
func domainCategory(domain string) string {
	switch domain {
	case "natural-science", "industrial-physical-systems":
		return "scientific-computing"
	case "cybersecurity":
		return "security"
	case "mathematics-or-formal-reasoning":
		return "mathematics"
	case "finance-economics":
		return "data-science"
	case "office-white-collar":
		return "personal-assistant"
	case "media-content-production":
		return "video-processing"
	}
	return ""
}

func wrongCategory(value string) string {
	list := Categories()
	folded := strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(value), "_", "-"), " ", "-")
	for _, c := range list {
		if c == value {
			return ""
		}
	}
	suggestion := domainCategory(folded)
	if suggestion == "" {
		suggestion = nearest(folded, list, 4)
	}
	if suggestion == "" {
		suggestion = "other"
	}
	return fmt.Sprintf("%q is not in the list of categories; the nearest is %s", short(value), suggestion)
}

func wrongOrigin(value string) string {
	switch value {
	case "original", "adapted", "generated":
		return ""
	}
	return fmt.Sprintf("%q is not original, adapted or generated", short(value))
}

// wrongLicense checks an SPDX license expression. The length is bounded because expressions nest.
func wrongLicense(value string) string {
	if ok, _ := spdxexp.ValidateLicenses([]string{value}); ok {
		return ""
	}
	dashed := strings.ReplaceAll(value, " ", "-")
	if ok, id := spdxexp.ActiveLicense(dashed); ok {
		return fmt.Sprintf("%q is not an SPDX expression; write %s", short(value), id)
	}
	if id := nearest(dashed, spdxlicenses.GetLicenses(), 2); id != "" {
		return fmt.Sprintf("%q is not an SPDX expression; did you mean %s?", short(value), id)
	}
	return fmt.Sprintf("%q is not an SPDX expression such as MIT or Apache-2.0", short(value))
}

func wrongURL(value string) string {
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil {
		return fmt.Sprintf("%q is not a web address", short(value))
	}
	return ""
}

// wrongEmail is a plausibility check: one @, a domain with a dot, no blanks. Only a message can prove an address.
func wrongEmail(value string) string {
	local, domain, ok := strings.Cut(value, "@")
	name, tld, dotted := strings.Cut(domain, ".")
	if !ok || local == "" || !dotted || name == "" || tld == "" || strings.HasSuffix(tld, ".") ||
		len(value) > 254 || strings.ContainsAny(value, " \t\r\n<>,;\"") || strings.Contains(domain, "@") {
		return "is not an e-mail address" // the value itself is personal and not repeated
	}
	return ""
}

// short cuts a value for a message.
func short(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
