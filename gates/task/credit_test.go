package task_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/task"
)

func complete() task.Credit {
	return task.Credit{AuthorName: "Ida Holm", AuthorEmail: "ida@example.org", License: "MIT", Category: "games", Origin: "original"}
}

func TestCreditCheck(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*task.Credit)
		want   []string // field, or "field: part of the detail"
	}{
		{"complete", func(*task.Credit) {}, nil},
		{"nothing", func(c *task.Credit) { *c = task.Credit{} }, []string{"author_name", "author_email", "license", "category", "origin"}},
		{"an SPDX expression", func(c *task.Credit) { c.License = "(MIT OR Apache-2.0) AND GPL-2.0-only WITH Classpath-exception-2.0" }, nil},
		{"an own license", func(c *task.Credit) { c.License = "LicenseRef-Lamp" }, nil},
		{"case of a license", func(c *task.Credit) { c.License = "apache-2.0" }, nil},
		{"a license with a blank", func(c *task.Credit) { c.License = "Apache 2.0" }, []string{"license: write Apache-2.0"}},
		{"a misspelled license", func(c *task.Credit) { c.License = "Apachee-2.0" }, []string{"license: did you mean Apache-2.0?"}},
		{"no license at all", func(c *task.Credit) { c.License = "proprietary" }, []string{"license: not an SPDX expression"}},
		{"an unclosed expression", func(c *task.Credit) { c.License = "(MIT OR" }, []string{"license: not an SPDX expression"}},
		{"a very long expression", func(c *task.Credit) { c.License = strings.Repeat("(", 400) }, []string{"license: short"}},
		{"a starting kit domain", func(c *task.Credit) { c.Category = "cybersecurity" }, []string{"category: nearest is security"}},
		{"another kit domain", func(c *task.Credit) { c.Category = "natural-science" }, []string{"category: nearest is scientific-computing"}},
		{"a misspelled category", func(c *task.Credit) { c.Category = "Data_Procesing" }, []string{"category: nearest is data-processing"}},
		{"a far category", func(c *task.Credit) { c.Category = "cooking with friends" }, []string{"category: nearest is other"}},
		{"a wrong origin", func(c *task.Credit) { c.Origin = "stolen" }, []string{"origin: original, adapted or generated"}},
		{"adapted without source", func(c *task.Credit) { c.Origin = "adapted" }, []string{"origin_url"}},
		{"adapted with source", func(c *task.Credit) { c.Origin, c.OriginURL = "adapted", "https://example.org/task" }, nil},
		{"original with a bad source", func(c *task.Credit) { c.OriginURL = "javascript:alert(1)" }, []string{"origin_url: not a web address"}},
		{"a source with a password", func(c *task.Credit) { c.OriginURL = "https://me:pw@example.org/" }, []string{"origin_url: not a web address"}},
		{"an address without domain", func(c *task.Credit) { c.AuthorEmail = "ida" }, []string{"author_email: not an e-mail"}},
		{"an address without dot", func(c *task.Credit) { c.AuthorEmail = "ida@localhost" }, []string{"author_email: not an e-mail"}},
		{"two addresses", func(c *task.Credit) { c.AuthorEmail = "a@example.org, b@example.org" }, []string{"author_email: not an e-mail"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := complete()
			test.change(&c)
			issues := c.Check()
			var fields []string
			for i, issue := range issues {
				got := issue.Field
				if !issue.Missing {
					got += ": " + issue.Detail
				}
				fields = append(fields, issue.Field)
				if i < len(test.want) {
					field, detail, _ := strings.Cut(test.want[i], ": ")
					if issue.Field != field || issue.Missing != (detail == "") || !strings.Contains(issue.Detail, detail) {
						t.Errorf("issue %q; want %q", got, test.want[i])
					}
				}
			}
			if len(issues) != len(test.want) {
				t.Errorf("issues %v; want %v", fields, test.want)
			}
		})
	}
}

func TestEveryCategoryIsValid(t *testing.T) {
	if n := len(task.Categories()); n != 18 {
		t.Errorf("%d categories; the guide lists 18", n)
	}
	for _, category := range task.Categories() {
		c := complete()
		c.Category = category
		if issues := c.Check(); len(issues) > 0 {
			t.Errorf("%s: %+v", category, issues)
		}
	}
}

func TestDeclaredCredit(t *testing.T) {
	front := strings.Replace(postTrainFront, "license: MIT", "license: [MIT]", 1)
	front = strings.Replace(front, "author_name: Ida Holm", "author_name: 42", 1)
	front = strings.Replace(front, "origin: original", "origin: ' adapted '\n  origin_url: data:text/html,x", 1)
	p, _ := readOne(t, postTrain().with(files{"task.md": document(front, body)}))
	var fields []string
	for _, issue := range p.Credit.Check() {
		fields = append(fields, issue.Field)
	}
	if diff := cmp.Diff([]string{"license", "origin_url"}, fields); diff != "" {
		t.Errorf("issues (-want +got):\n%s", diff)
	}
	id := p.Credit.Identity("sha256:x")
	if id.AuthorName != "42" || id.License != "" || id.Origin != "adapted" || id.OriginURL != "" {
		t.Errorf("identity %+v; unusable values must stay out, usable ones in", id)
	}
}

func TestDefaults(t *testing.T) {
	d := task.Defaults{License: "ISC", Origin: "generated"}
	if c := complete().With(d); c.License != "MIT" || c.Origin != "original" {
		t.Errorf("a default replaced a declared value: %+v", c)
	}
	if c := (task.Credit{}).With(d); c.License != "ISC" || c.Origin != "generated" {
		t.Errorf("defaults were not taken: %+v", c)
	}
}
