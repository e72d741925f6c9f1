package task

import (
	"fmt"
	"slices"
	"strings"
)

// Submission is what submission.yaml says about a collection.
type Submission struct {
	TeamName     string `json:"team_name"`
	ContactEmail string `json:"-"` // for the organizers' eyes while validating; never stored or shown
	Track        string `json:"track"`
	Defaults
}

// submissionKeys are the keys that mean something, required ones first.
func submissionKeys() []string {
	return []string{"team_name", "contact_email", "track", "license", "origin"}
}

// readSubmission reads and checks the submission.yaml of the checker's directory. The file is flat: every value is
// one text, which may hold # when it is quoted.
func (c *checker) readSubmission() Submission {
	const name = "submission.yaml"
	text, ok := c.text(name)
	if !ok {
		return Submission{}
	}
	v, err := parseYAML(text, 1, c.limits)
	if err != nil {
		c.syntax("submission-yaml", name, err)
		return Submission{}
	}
	if v.Kind != Map {
		c.fail(Problem{Code: "submission-yaml", Path: name, Line: 1, Message: "the file has no keys", Fix: "write team_name, contact_email and track, one a line"})
		return Submission{}
	}
	values := map[string]string{}
	for _, f := range v.Fields {
		c.submissionField(f, values)
	}
	for _, key := range submissionKeys()[:3] {
		if values[key] == "" && v.Get(key).Kind != List && v.Get(key).Kind != Map {
			c.fail(Problem{Code: "submission-missing-key", Path: name, Line: v.KeyLine(key), Field: key, Message: "is missing or empty", Fix: "add " + key + ": and a value"})
		}
	}
	c.submissionValues(values, v)
	return Submission{values["team_name"], values["contact_email"], values["track"], Defaults{values["license"], values["origin"]}}
}

func (c *checker) submissionField(f Field, values map[string]string) {
	p := Problem{Path: "submission.yaml", Line: f.Line, Field: short(f.Key)}
	if f.Value.Kind == List || f.Value.Kind == Map {
		p.Code, p.Message, p.Fix = "submission-nested", "the file is flat; this key holds several values", "write one value on the key's own line"
		c.fail(p)
		return
	}
	if !slices.Contains(submissionKeys(), f.Key) {
		p.Code, p.Message, p.Fix = "submission-unknown-key", "means nothing here and is ignored", "remove it"
		if near := nearest(f.Key, submissionKeys(), 3); near != "" {
			p.Fix = "did you mean " + near + "?"
		}
		c.warn(p)
		return
	}
	text, _ := f.Value.AsText()
	values[f.Key] = strings.TrimSpace(text)
}

func (c *checker) submissionValues(values map[string]string, v Value) {
	for _, rule := range []struct {
		key      string
		required bool
		wrong    func(string) string
		fix      string
	}{
		{"team_name", true, tooLong, "use a name of at most 300 bytes"},
		{"contact_email", true, wrongEmail, "write an address at which the organizers can reach you"},
		{"track", true, wrongTrack, "write track: environments"},
		{"license", false, wrongLicense, "use an SPDX expression"},
		{"origin", false, wrongOrigin, "write original, adapted or generated"},
	} {
		value := values[rule.key]
		if value == "" {
			continue
		}
		message := tooLong(value)
		if message == "" {
			message = rule.wrong(value)
		}
		if message == "" {
			continue
		}
		p := Problem{Code: "submission-value", Path: "submission.yaml", Line: v.KeyLine(rule.key), Field: rule.key, Message: message, Fix: rule.fix}
		if rule.required {
			c.fail(p)
		} else {
			c.warn(p)
		}
	}
}

func tooLong(value string) string {
	if len(value) > maxCredit {
		return fmt.Sprintf("has %d bytes; at most %d are accepted", len(value), maxCredit)
	}
	return ""
}

func wrongTrack(value string) string {
	if value == "environments" {
		return ""
	}
	return fmt.Sprintf("%q is not a track for collections", short(value))
}
