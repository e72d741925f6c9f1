package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol/api"
)

// caller makes requests up from the published OpenAPI document: for each
// operation its parameters and a body of its schema, right, nearly right and
// wrong, as each role.
type caller struct {
	*site
	ids    map[string][]string // of things that exist, by parameter
	values map[string][]string // strings that mean something, by member name
	calm   bool                // the request that is being made is meant to be right
}

// chance draws whether something odd is done, one time in n and never to a
// request that is meant to be right.
func (c *caller) chance(t *rapid.T, n int, label string) bool {
	return rapid.IntRange(1, n).Draw(t, label) == n && !c.calm
}

// nonsense are strings that parsers, paths, SQL and JSON have trouble with.
func nonsense() []string {
	return []string{
		"", " ", ".", "..", "../../etc/passwd", "%2e%2e", "a/b", "x\x00y", "\u202e", "é́", strings.Repeat("A", 5000), "'; DROP TABLE runs; --", "%s%n", "{}", "null", "-1",
		"9223372036854775808", "1e999", "NaN", "<script>", "preflight", "env-000000000000", "challenge-000000000000", "\xff\xfe",
	}
}

func newCaller(s *site) *caller {
	env, run := s.scored()
	s.want(201, "POST", runsPath+"/"+run.RunID+"/collect", author, nil)
	return &caller{site: s, ids: map[string][]string{
		"id": {challenge, "skillsbench-9b", env.ID}, "env": {env.ID}, "run": {run.RunID}, "n": {"1", "2"}, "environment_id": {env.ID},
		"challenge": {challenge}, "track": {env.ChallengeID}, "author": {author}, "limit": {"1", "200"}, "after": {"0", "5"}, "version": {"1"},
	}, values: map[string][]string{
		"challenge_id": {challenge, "skillsbench-9b"}, "repo_type": {"bundle", "dataset", "github"}, "repo_id": {"sample", "ada/tasks"}, "revision": {env.Revision, "main"},
		"environment_id": {env.ID}, "agent_id": {"my-agent", "human-eve"}, "body": {"Hello."}, "note": {"The evidence supports the report."}, "plan_digest": {"sha256:0"},
	}}
}

// text draws a string for a member or a parameter.
func (c *caller) text(t *rapid.T, name string, known []string) string {
	kind := rapid.IntRange(0, 5).Draw(t, name+" kind")
	if c.calm {
		kind = max(2, kind)
		if len(known) > 0 {
			kind = 5
		}
	}
	switch kind {
	case 0:
		return rapid.SampledFrom(nonsense()).Draw(t, name)
	case 1:
		return rapid.String().Draw(t, name)
	case 2:
		return rapid.StringMatching(`[A-Za-z0-9._-]{8,40}`).Draw(t, name)
	default:
		if len(known) == 0 {
			return rapid.StringMatching(`[a-z0-9-]{3,20}`).Draw(t, name)
		}
		return rapid.SampledFrom(known).Draw(t, name)
	}
}

// value draws a value for a schema, sometimes of another type.
func (c *caller) value(t *rapid.T, schema map[string]any, name string, depth int) any {
	if c.chance(t, 24, name+" odd") {
		return rapid.SampledFrom([]any{nil, true, 0.5, -1, "x", []any{}, map[string]any{}, []any{[]any{[]any{nil}}}, 1e300}).Draw(t, name+" other type")
	}
	if ref, ok := schema["$ref"].(string); ok {
		schema = c.contract.at("components", "schemas", strings.TrimPrefix(ref, "#/components/schemas/"))
	}
	for _, either := range []string{"oneOf", "anyOf"} {
		if options := list(schema[either]); len(options) > 0 {
			return c.value(t, rapid.SampledFrom(options).Draw(t, name+" option").(map[string]any), name, depth)
		}
	}
	if options := list(schema["enum"]); len(options) > 0 {
		return rapid.SampledFrom(options).Draw(t, name)
	}
	kind := schema["type"]
	if several := list(kind); len(several) > 0 {
		kind = rapid.SampledFrom(several).Draw(t, name+" type")
	}
	switch kind {
	case "object":
		return c.object(t, schema, name, depth)
	case "array":
		items, _ := schema["items"].(map[string]any)
		all := []any{}
		for i := range rapid.IntRange(0, 3).Draw(t, name+" items") {
			all = append(all, c.value(t, items, fmt.Sprintf("%s[%d]", name, i), depth+1))
		}
		return all
	case "boolean":
		return rapid.Bool().Draw(t, name)
	case "integer":
		return rapid.SampledFrom([]any{0, 1, 4, 8, -1, 1 << 31, 1 << 53}).Draw(t, name)
	case "number":
		return rapid.SampledFrom([]any{0, 0.5, 1, -1, 1e308}).Draw(t, name)
	case "null":
		return nil
	default:
		return c.text(t, name, c.values[name])
	}
}

func (c *caller) object(t *rapid.T, schema map[string]any, name string, depth int) any {
	object := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	for _, member := range slices.Sorted(maps.Keys(properties)) {
		if depth > 6 || c.chance(t, 12, member+" left out") {
			continue
		}
		object[member] = c.value(t, properties[member].(map[string]any), member, depth+1)
	}
	if more, ok := schema["additionalProperties"].(map[string]any); ok && depth <= 6 {
		object[c.text(t, name+" key", nil)] = c.value(t, more, name+" extra", depth+1)
	}
	if c.chance(t, 20, name+" unknown member") {
		object[rapid.SampledFrom(nonsense()).Draw(t, name+" member")] = "x"
	}
	return object
}

// request draws a request to a route.
func (c *caller) request(t *rapid.T, route api.Route, who string) *http.Request {
	c.calm = rapid.Bool().Draw(t, "calm")
	operation := c.contract.at("paths", route.Path, strings.ToLower(route.Method))
	path := route.Path
	query := url.Values{}
	for _, p := range list(operation["parameters"]) {
		parameter := p.(map[string]any)
		name := parameter["name"].(string)
		switch parameter["in"] {
		case "path":
			path = strings.Replace(path, "{"+name+"}", url.PathEscape(c.text(t, name, c.ids[name])), 1)
		case "query":
			for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, name+" times") {
				query.Add(name, c.text(t, name, c.ids[name]))
			}
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var body any
	if schema := dig(operation, "requestBody", "content", api.ContentJSON, "schema"); schema != nil {
		raw := must(json.Marshal(c.value(t, schema, "body", 0)))(c.t)
		damage := rapid.IntRange(0, 20).Draw(t, "damage")
		if c.calm {
			damage = 20
		}
		switch damage {
		case 0:
			raw = raw[:rapid.IntRange(0, len(raw)).Draw(t, "cut")]
		case 1:
			raw = append(raw, rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "tail")...)
		case 2:
			raw = []byte(strings.Repeat("[", rapid.IntRange(1, 20_000).Draw(t, "depth")))
		}
		body = string(raw)
	}
	r := c.site.request(route.Method, path, who, body)
	headers := map[string][]string{
		"Accept":        {"text/event-stream", "text/html", "*/*;q=0", "application/json, text/plain", "\u00e9"},
		"Content-Type":  {"text/plain", "multipart/form-data", "multipart/form-data; boundary=x", "application/json; charset=latin1", ""},
		"If-None-Match": {"*", `"x"`, "W/"}, "Last-Event-ID": {"-1", "x", "99999999999999999999", "3"}, "X-Request-Id": {"short", "request-id-0001"},
		"Origin": {"https://evil.example"}, "Cookie": {"arena_session=x", "arena_session=" + strings.Repeat("y", 5000)}, "Content-Encoding": {"gzip"},
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if c.chance(t, 30, name+" sent") {
			r.Header.Set(name, rapid.SampledFrom(headers[name]).Draw(t, name))
		}
	}
	return r
}

// TestAPIFuzz asks every operation of the OpenAPI document, as every role, for
// what rapid makes up (more with -rapid.checks). No answer is a 5xx, and each has
// a status, a content type and a form that the document promises; glance sees to
// that.
func TestAPIFuzz(t *testing.T) {
	s := newSite(t, fast, func(o *options) {
		for i := range o.service.Challenges {
			o.service.Challenges[i].Compute.RunsPerDay = 1_000_000
		}
		o.service.PerHour.Validations, o.service.PerHour.Messages = 0, 0
	})
	c := newCaller(s)
	statuses := map[int]int{}
	asked := map[string]bool{}
	routes := api.Routes()
	rapid.Check(t, func(rt *rapid.T) {
		for i, route := range routes {
			who := rapid.SampledFrom([]string{nobody, stranger, author, other, editor}).Draw(rt, fmt.Sprintf("who %d", i))
			r := c.request(rt, route, who)
			a := c.follow(who, r)
			statuses[a.StatusCode]++
			asked[route.Name] = true
			if a.StatusCode >= 500 {
				rt.Fatalf("%s as %s: %s %s answers %s: %s", route.Name, who, r.Method, r.URL, a.Status, a.body)
			}
			if t.Failed() {
				rt.Fatalf("%s as %s: %s %s answers %s", route.Name, who, r.Method, r.URL, a.Status)
			}
		}
	})
	t.Logf("answers by status: %v", statuses)
	if len(asked) != len(routes) || statuses[200] == 0 || statuses[422] == 0 || statuses[403] == 0 || statuses[404] == 0 {
		t.Errorf("%d of %d routes were asked, with the answers %v: the requests are not varied enough", len(asked), len(routes), statuses)
	}
	if _, err := c.store.Sums(t.Context()); err != nil {
		t.Error(err)
	}
	must0(t, c.store.Integrity(t.Context()))
	must0(t, c.store.VerifyAudit(t.Context()))
}

// follow makes a request; of an answer that streams it reads the head alone.
func (c *caller) follow(who string, r *http.Request) answer {
	if strings.Contains(r.Header.Get("Accept"), "event-stream") {
		res, err := c.Client().Do(r)
		if err != nil {
			c.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
		}
		defer res.Body.Close()
		return answer{Response: res}
	}
	return c.glance(who, r)
}
