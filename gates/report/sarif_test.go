package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/gates/report"
)

// sarifErrors checks the structure that SARIF 2.1.0 requires of the objects we write: required properties, their JSON
// types, closed lists of words, and references between objects. Section numbers are the standard's.
func sarifErrors(data []byte) []string {
	var log any
	if err := json.Unmarshal(data, &log); err != nil {
		return []string{"not JSON: " + err.Error()}
	}
	c := &sarifChecker{}
	c.log(log)
	return c.errors
}

func checkSARIF(t *testing.T, data []byte) {
	t.Helper()
	for _, e := range sarifErrors(data) {
		t.Error("sarif: " + e)
	}
}

type sarifChecker struct {
	errors []string
	path   []string
}

func (c *sarifChecker) errorf(format string, args ...any) {
	c.errors = append(c.errors, strings.Join(c.path, ".")+" "+fmt.Sprintf(format, args...))
}

// member returns a member of an object; it must be there when required, and of T's type when it is there.
func member[T any](c *sarifChecker, object any, name string, required bool) (T, bool) {
	var zero T
	m, ok := object.(map[string]any)
	if !ok {
		c.errorf("is %T, not an object", object)
		return zero, false
	}
	v, there := m[name]
	if !there {
		if required {
			c.errorf("lacks %s", name)
		}
		return zero, false
	}
	value, ok := v.(T)
	if !ok {
		c.errorf("%s is %T", name, v)
	}
	return value, ok
}

// in runs check for an object at a path.
func (c *sarifChecker) in(name string, check func()) {
	c.path = append(c.path, name)
	check()
	c.path = c.path[:len(c.path)-1]
}

func (c *sarifChecker) each(object any, name string, required bool, check func(item any)) {
	list, _ := member[[]any](c, object, name, required)
	for i, item := range list {
		c.in(fmt.Sprintf("%s[%d]", name, i), func() { check(item) })
	}
}

func (c *sarifChecker) oneOf(object any, name string, required bool, words ...string) {
	if s, ok := member[string](c, object, name, required); ok && !slices.Contains(words, s) {
		c.errorf("%s is %q; want one of %q", name, s, words)
	}
}

// only reports members that the standard does not define, since its schema forbids them.
func (c *sarifChecker) only(object any, names ...string) {
	m, _ := object.(map[string]any)
	for name := range m {
		if !slices.Contains(names, name) {
			c.errorf("has an unknown member %s", name)
		}
	}
}

func (c *sarifChecker) log(log any) { // §3.13
	c.only(log, "$schema", "version", "runs")
	c.oneOf(log, "version", true, "2.1.0")
	if s, ok := member[string](c, log, "$schema", false); ok && !strings.Contains(s, "sarif-schema-2.1.0") {
		c.errorf("$schema is %q", s)
	}
	c.each(log, "runs", true, c.run)
}

func (c *sarifChecker) run(run any) { // §3.14
	c.only(run, "tool", "columnKind", "originalUriBaseIds", "results", "properties")
	c.oneOf(run, "columnKind", false, "utf16CodeUnits", "unicodeCodePoints")
	bases, _ := member[map[string]any](c, run, "originalUriBaseIds", false)
	var rules []any
	tool, _ := member[any](c, run, "tool", true)
	c.in("tool.driver", func() {
		driver, _ := member[any](c, tool, "driver", true)
		c.only(driver, "name", "semanticVersion", "rules") // §3.19
		if name, ok := member[string](c, driver, "name", true); ok && name == "" {
			c.errorf("name is empty")
		}
		member[string](c, driver, "semanticVersion", false)
		rules, _ = member[[]any](c, driver, "rules", false)
		c.each(driver, "rules", false, c.rule)
	})
	c.each(run, "results", false, func(result any) { c.result(result, rules, bases) })
}

func (c *sarifChecker) rule(rule any) { // §3.49
	c.only(rule, "id", "shortDescription", "fullDescription", "help", "defaultConfiguration", "properties")
	member[string](c, rule, "id", true)
	for _, name := range []string{"shortDescription", "fullDescription", "help"} {
		if text, ok := member[any](c, rule, name, false); ok {
			member[string](c, text, "text", true) // §3.12
		}
	}
	if configuration, ok := member[any](c, rule, "defaultConfiguration", false); ok {
		c.oneOf(configuration, "level", false, "none", "note", "warning", "error")
	}
}

func (c *sarifChecker) result(result any, rules []any, bases map[string]any) { // §3.27
	c.only(result, "ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints", "properties")
	id, _ := member[string](c, result, "ruleId", false)
	if index, ok := member[float64](c, result, "ruleIndex", false); ok {
		i := int(index)
		if i < 0 || i >= len(rules) {
			c.errorf("ruleIndex %d of %d rules", i, len(rules))
		} else if rule := rules[i].(map[string]any); rule["id"] != id {
			c.errorf("ruleIndex points at %v, ruleId is %q", rule["id"], id)
		}
	}
	c.oneOf(result, "level", false, "none", "note", "warning", "error")
	message, _ := member[any](c, result, "message", true)
	member[string](c, message, "text", true)
	prints, _ := member[map[string]any](c, result, "partialFingerprints", false)
	for name, value := range prints {
		if s, ok := value.(string); !ok || s == "" {
			c.errorf("fingerprint %s is %v", name, value)
		}
	}
	c.each(result, "locations", false, func(location any) { // §3.28
		c.only(location, "physicalLocation", "logicalLocations")
		physical, _ := member[any](c, location, "physicalLocation", true)
		c.only(physical, "artifactLocation", "region")
		artifact, _ := member[any](c, physical, "artifactLocation", true)
		c.artifact(artifact, bases)
		if region, ok := member[any](c, physical, "region", false); ok { // §3.30
			if line, ok := member[float64](c, region, "startLine", true); ok && line < 1 {
				c.errorf("startLine %v", line)
			}
			if column, ok := member[float64](c, region, "startColumn", false); ok && column < 1 {
				c.errorf("startColumn %v", column)
			}
		}
		c.each(location, "logicalLocations", false, func(logical any) { member[string](c, logical, "name", false) })
	})
}

func (c *sarifChecker) artifact(artifact any, bases map[string]any) { // §3.4
	c.only(artifact, "uri", "uriBaseId")
	if uri, ok := member[string](c, artifact, "uri", true); ok {
		u, err := url.Parse(uri)
		switch {
		case err != nil:
			c.errorf("uri %q: %v", uri, err)
		case u.IsAbs():
			c.errorf("uri %q is absolute although it has a base", uri)
		}
	}
	if base, ok := member[string](c, artifact, "uriBaseId", false); ok {
		if _, there := bases[base]; !there {
			c.errorf("uriBaseId %q is not among originalUriBaseIds", base)
		}
	}
}

func TestSARIFStructure(t *testing.T) {
	var b bytes.Buffer
	if err := report.SARIF(&b, sample(), sampleRules(), nil); err != nil {
		t.Fatal(err)
	}
	checkSARIF(t, b.Bytes())
}

// The checker itself must notice when something is wrong.
func TestSARIFCheckerNotices(t *testing.T) {
	var good bytes.Buffer
	if err := report.SARIF(&good, sample(), sampleRules(), nil); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"version": "2.1.0"`, `"version": "2.0.0"`},
		{`"level": "error"`, `"level": "fatal"`},
		{`"ruleIndex": 0`, `"ruleIndex": 7`},
		{`"startLine": 14`, `"startLine": 0`},
		{`"uriBaseId": "SRCROOT"`, `"uriBaseId": "ELSEWHERE"`},
		{`"driver"`, `"engine"`},
	} {
		bad := strings.Replace(good.String(), change[0], change[1], 1)
		if bad == good.String() {
			t.Fatalf("%s does not occur", change[0])
		}
		if len(sarifErrors([]byte(bad))) == 0 {
			t.Errorf("nothing was said about %s", change[1])
		}
	}
}

func TestSARIFFingerprintsDoNotDependOnLines(t *testing.T) {
	prints := func(shift int) []string {
		r := sample()
		for i := range r.Findings {
			if r.Findings[i].Line > 0 {
				r.Findings[i].Line += shift
			}
		}
		var b bytes.Buffer
		if err := report.SARIF(&b, r, nil, nil); err != nil {
			t.Fatal(err)
		}
		var list []string
		for line := range strings.Lines(b.String()) {
			if strings.Contains(line, "arenaFinding/v1") {
				list = append(list, line)
			}
		}
		return list
	}
	here, moved := prints(0), prints(5)
	if len(here) != 4 || !slices.Equal(here, moved) {
		t.Errorf("fingerprints %q and after moving the lines %q", here, moved)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(here))); len(distinct) != 4 {
		t.Errorf("fingerprints repeat: %q", here)
	}
}
