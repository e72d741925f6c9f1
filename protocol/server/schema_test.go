package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/posttrainarena/arena/protocol/api"
)

// contract is the published OpenAPI document, read as a client would read it. It
// judges every exchange of every test in this package: an answer must have a
// status, a content type and a form that the document promises.
type contract struct {
	doc map[string]any
}

func newContract(t testing.TB, document []byte) *contract {
	t.Helper()
	c := &contract{}
	if err := json.Unmarshal(document, &c.doc); err != nil {
		t.Fatalf("the OpenAPI document: %v", err)
	}
	return c
}

// exchange returns what an answer to a documented route does that the document
// does not promise.
func (c *contract) exchange(route api.Route, status int, header http.Header, body []byte) []string {
	operation := c.at("paths", route.Path, strings.ToLower(route.Method))
	if status == http.StatusNotModified {
		return nil // a matter of HTTP, not of the interface
	}
	response := dig(operation, "responses", fmt.Sprint(status))
	if response == nil {
		return []string{fmt.Sprintf("the status %d is not documented", status)}
	}
	if response["content"] == nil && len(body) == 0 {
		return nil
	}
	kind, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	media := dig(response, "content", kind)
	if media == nil {
		return []string{fmt.Sprintf("the content type %q is not documented for %d", kind, status)}
	}
	if kind != api.ContentJSON && kind != api.ProblemType {
		return nil
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return []string{fmt.Sprintf("the body is not JSON: %v", err)}
	}
	return c.check(dig(media, "schema"), value, "answer")
}

func (c *contract) at(path ...string) map[string]any { return dig(c.doc, path...) }

// dig returns the object at a path of member names, or nil.
func dig(from map[string]any, path ...string) map[string]any {
	for _, name := range path {
		from, _ = from[name].(map[string]any)
	}
	return from
}

// check returns where a value departs from a schema. It knows the part of JSON
// Schema 2020-12 that the document uses and refuses the rest, so that no keyword
// is skipped in silence.
func (c *contract) check(schema map[string]any, value any, at string) []string {
	var bad []string
	complain := func(format string, args ...any) { bad = append(bad, at+": "+fmt.Sprintf(format, args...)) }
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		rule := schema[keyword]
		switch keyword {
		case "$ref":
			name := strings.TrimPrefix(rule.(string), "#/components/schemas/")
			bad = append(bad, c.check(c.at("components", "schemas", name), value, at)...)
		case "type":
			if !hasType(rule, value) {
				complain("%v is not of type %v", value, rule)
			}
		case "enum":
			if !slices.Contains(rule.([]any), value) {
				complain("%v is none of %v", value, rule)
			}
		case "anyOf", "oneOf":
			matches := 0
			for _, option := range rule.([]any) {
				if len(c.check(option.(map[string]any), value, at)) == 0 {
					matches++
				}
			}
			if matches == 0 || keyword == "oneOf" && matches > 1 {
				complain("%v matches %d of the schemas in %s", value, matches, keyword)
			}
		case "format":
			if text, ok := value.(string); ok && rule == "date-time" {
				if _, err := time.Parse(time.RFC3339, text); err != nil {
					complain("%q is no RFC 3339 time", text)
				}
			}
		case "maxLength":
			if text, ok := value.(string); ok && utf8.RuneCountInString(text) > int(rule.(float64)) {
				complain("it is longer than %v", rule)
			}
		case "minItems", "maxItems":
			n := float64(len(list(value)))
			if _, ok := value.([]any); ok && (keyword == "minItems" && n < rule.(float64) || keyword == "maxItems" && n > rule.(float64)) {
				complain("it has %v items; %s is %v", n, keyword, rule)
			}
		case "items":
			for i, item := range list(value) {
				bad = append(bad, c.check(rule.(map[string]any), item, fmt.Sprintf("%s[%d]", at, i))...)
			}
		case "properties", "additionalProperties", "required":
			// Together, below.
		case "description", "contentEncoding":
		default:
			complain("the schema uses %q, which this test does not know", keyword)
		}
	}
	if object, ok := value.(map[string]any); ok {
		bad = append(bad, c.members(schema, object, at)...)
	}
	return bad
}

// members checks an object's members.
func (c *contract) members(schema, object map[string]any, at string) []string {
	var bad []string
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range list(schema["required"]) {
		if _, ok := object[name.(string)]; !ok {
			bad = append(bad, fmt.Sprintf("%s: the member %s is missing", at, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		where := at + "." + name
		if own, ok := properties[name].(map[string]any); ok {
			bad = append(bad, c.check(own, object[name], where)...)
			continue
		}
		switch more := schema["additionalProperties"].(type) {
		case map[string]any:
			bad = append(bad, c.check(more, object[name], where)...)
		case bool:
			if !more {
				bad = append(bad, where+": the member is not documented")
			}
		}
	}
	return bad
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// hasType reports whether a value has a JSON type, or one of a list of them.
func hasType(rule, value any) bool {
	if options, ok := rule.([]any); ok {
		return slices.ContainsFunc(options, func(one any) bool { return hasType(one, value) })
	}
	switch v := value.(type) {
	case nil:
		return rule == "null"
	case bool:
		return rule == "boolean"
	case string:
		return rule == "string"
	case float64:
		return rule == "number" || rule == "integer" && v == math.Trunc(v)
	case []any:
		return rule == "array"
	default:
		return rule == "object"
	}
}

// TestContractNoticesWhatIsWrong proves the judge on answers with one flaw each.
func TestContractNoticesWhatIsWrong(t *testing.T) {
	t.Parallel()
	document, err := api.NewSchemas().Document("http://127.0.0.1:1", "test").MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	c := newContract(t, document)
	route := map[string]api.Route{}
	for _, r := range api.Routes() {
		route[r.Name] = r
	}
	const job = `{"id":null,"kind":"k","purpose":"p","run_id":"r","challenge":"c","provider":"s","flavor":"f","stage":"RUNNING","created_at":"2026-03-02T09:00:00Z","started_at":null,"finished_at":null,"cost_usd":null}`
	const budget = `{"cap_usd":800,"prior_allowance_usd":0,"settled_usd":0,"reserved_usd":0,"recorded_usd":0,"committed_usd":0,"remaining_usd":800,"simulated":true}`
	for _, test := range []struct{ name, kind, body, flaw string }{
		{"listJobs", api.ContentJSON, `{"jobs":[` + job + `],"budget":` + budget + `,"next_cursor":null}`, ""},
		{"listJobs", api.ContentJSON, `{"jobs":[` + strings.Replace(job, "09:00:00Z", "nine", 1) + `],"budget":` + budget + `,"next_cursor":null}`, "created_at"},
		{"listJobs", api.ContentJSON, `{"jobs":[` + strings.Replace(job, `"kind":"k",`, "", 1) + `],"budget":` + budget + `,"next_cursor":null}`, "kind is missing"},
		{"listJobs", api.ContentJSON, `{"jobs":[` + strings.Replace(job, `"kind":"k"`, `"kind":"k","token":"t"`, 1) + `],"budget":` + budget + `,"next_cursor":null}`, "token: the member is not documented"},
		{"listJobs", api.ContentJSON, `{"jobs":null,"budget":` + budget + `,"next_cursor":null}`, "jobs"},
		{"listJobs", api.ContentJSON, `{"jobs":[],"budget":null,"next_cursor":null}`, "budget"},
		{"listJobs", api.ContentJSON, `{"jobs":[],"budget":` + strings.Replace(budget, "800", `"800"`, 1) + `,"next_cursor":null}`, "cap_usd"},
		{"listJobs", "text/html", `<html>`, "content type"},
		{"healthz", api.ContentJSON, `{"ok":1,"detail":"alive"}`, "ok"},
	} {
		found := strings.Join(c.exchange(route[test.name], 200, http.Header{"Content-Type": {test.kind}}, []byte(test.body)), "\n")
		if test.flaw == "" && found != "" || !strings.Contains(found, test.flaw) {
			t.Errorf("%s answers %s\nfound %q, want %q", test.name, test.body, found, test.flaw)
		}
	}
	if found := c.exchange(route["healthz"], 418, nil, nil); len(found) == 0 {
		t.Error("a status that is not documented passes")
	}
}
