package api_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// document is /openapi.json as a client reads it.
func document(t *testing.T) map[string]any {
	t.Helper()
	raw, err := api.NewSchemas().Document("https://arena.example.org", "1.2.3").MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// object returns the object at a path of members, or fails the test.
func object(t *testing.T, from any, path ...string) map[string]any {
	t.Helper()
	for _, name := range append([]string{""}, path...) {
		if name != "" {
			from = from.(map[string]any)[name]
		}
		if _, ok := from.(map[string]any); !ok {
			t.Fatalf("at %q of %q there is no object but %v", name, path, from)
		}
	}
	return from.(map[string]any)
}

// TestDocumentHasEveryRoute compares the document with the route table in both
// directions: methods, parameters, bodies, and who may call.
func TestDocumentHasEveryRoute(t *testing.T) {
	doc := document(t)
	paths := object(t, doc, "paths")
	left := map[string]bool{} // operations that no route explains
	for path, item := range paths {
		for method := range item.(map[string]any) {
			left[method+" "+path] = true
		}
	}
	for _, r := range api.Routes() {
		method := strings.ToLower(r.Method)
		if !left[method+" "+r.Path] {
			t.Errorf("%s %s is not documented, or twice in the table", r.Method, r.Path)
			continue
		}
		delete(left, method+" "+r.Path)
		op := object(t, paths, r.Path, method)
		if op["operationId"] != r.Name || op["summary"] != r.Summary || !strings.Contains(op["description"].(string), r.Role.String()) {
			t.Errorf("%s: the operation is %v, %v, %v", r.Name, op["operationId"], op["summary"], op["description"])
		}
		optional := slices.ContainsFunc(op["security"].([]any), func(s any) bool { return len(s.(map[string]any)) == 0 })
		if optional != (r.Role == protocol.RolePublic) {
			t.Errorf("%s: security %v, role %s", r.Name, op["security"], r.Role)
		}
		if _, has := op["requestBody"]; has != (r.Request != nil) {
			t.Errorf("%s: a request body is documented: %v", r.Name, has)
		}
		checkParameters(t, r, op)
	}
	for operation := range left {
		t.Errorf("%s is documented and in no route", operation)
	}
}

// checkParameters compares the parameters of an operation with its route's: each
// name in the path is a parameter, and those of the query are as in the table.
func checkParameters(t *testing.T, r api.Route, op map[string]any) {
	t.Helper()
	var got, want []string
	parameters, _ := op["parameters"].([]any)
	for _, p := range parameters {
		p := p.(map[string]any)
		required, _ := p["required"].(bool)
		got = append(got, p["in"].(string)+" "+p["name"].(string)+" "+strconv.FormatBool(required))
	}
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(r.Path, -1) {
		want = append(want, "path "+m[1]+" true")
	}
	for _, q := range r.Query {
		want = append(want, "query "+q.Name+" "+strconv.FormatBool(q.Required))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: the parameters are %q, want %q", r.Name, got, want)
	}
}

// TestDocumentIsSound checks what OpenAPI 3.1 requires of a document beyond JSON:
// references that resolve, responses with a description, operation ids used once,
// schemas in use, and members that a schema requires and also describes.
func TestDocumentIsSound(t *testing.T) {
	doc := document(t)
	if doc["openapi"] != "3.1.0" {
		t.Errorf("openapi: %v", doc["openapi"])
	}
	if info := object(t, doc, "info"); info["title"] == "" || info["version"] != "1.2.3" {
		t.Errorf("info: %v", info)
	}
	if servers := doc["servers"].([]any); object(t, servers[0])["url"] != "https://arena.example.org" {
		t.Errorf("servers: %v", servers)
	}

	ids := map[string]bool{}
	for path, item := range object(t, doc, "paths") {
		for method, op := range item.(map[string]any) {
			op := object(t, op)
			id := op["operationId"].(string)
			if ids[id] {
				t.Errorf("the operation id %s is used twice", id)
			}
			ids[id] = true
			responses := object(t, op, "responses")
			if responses["200"] == nil || len(responses) < 2 {
				t.Errorf("%s %s: documents only %q", method, path, slices.Collect(maps.Keys(responses)))
			}
			for status, response := range responses {
				if n, err := strconv.Atoi(status); err != nil || n < 200 || n > 599 || object(t, response)["description"] == "" {
					t.Errorf("%s %s: the response %s: %v", method, path, status, response)
				}
			}
		}
	}

	schemas := object(t, doc, "components", "schemas")
	used := map[string]bool{}
	walk(doc, func(o map[string]any) {
		if ref, ok := o["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/components/schemas/")
			used[name] = true
			if schemas[name] == nil {
				t.Errorf("the reference %s leads nowhere", ref)
			}
		}
	})
	for name, schema := range schemas {
		if !used[name] {
			t.Errorf("nothing refers to the schema %s", name)
		}
		schema := object(t, schema)
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, member := range required {
			if properties[member.(string)] == nil {
				t.Errorf("%s requires %v and does not describe it", name, member)
			}
		}
	}
}

// walk calls do for every object in a value.
func walk(v any, do func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		do(v)
		for _, member := range v {
			walk(member, do)
		}
	case []any:
		for _, item := range v {
			walk(item, do)
		}
	}
}

// TestNullsAreDocumented names members that are null when there is nothing, and
// some that never are.
func TestNullsAreDocumented(t *testing.T) {
	schemas := object(t, document(t), "components", "schemas")
	nullable := func(schema, member string) bool {
		p := object(t, schemas, schema, "properties", member)
		if types, ok := p["type"].([]any); ok {
			return slices.Contains(types, any("null"))
		}
		options, _ := p["anyOf"].([]any)
		return slices.ContainsFunc(options, func(o any) bool { return object(t, o)["type"] == "null" })
	}
	for member, want := range map[string]bool{
		"Run.settled_usd": true, "Run.stage": true, "Run.result": true, "Run.ended_at": true, "Run.agent_id": true,
		"Run.state": false, "Run.stages": false, "Run.max_compute_usd": false, "Run.created_at": false, "Run.job_url": false,
		"Challenge.health": true, "Challenge.baseline": true, "Challenge.eval_suites": false,
		"Preflight.max_compute_usd": true, "Job.cost_usd": true, "Gates.verdict": true, "ProtocolCheck.ok": true,
		"PostMessage.agent_id": true, "Problem.launched": false, "Messages.next_cursor": true,
	} {
		schema, name, _ := strings.Cut(member, ".")
		if got := nullable(schema, name); got != want {
			t.Errorf("%s may be null: %v, want %v", member, got, want)
		}
	}
}

// TestRoutesAreUsable checks the table itself: what registration, the client and
// the guides take for granted.
func TestRoutesAreUsable(t *testing.T) {
	names := map[string]bool{}
	endpoints := api.Endpoints()
	for i, r := range api.Routes() {
		if names[r.Name] {
			t.Errorf("two routes are called %s", r.Name)
		}
		names[r.Name] = true
		if r.Method != "GET" && r.Method != "POST" || !strings.HasPrefix(r.Path, "/") || !strings.HasSuffix(r.Summary, ".") {
			t.Errorf("%s: %s %s: %s", r.Name, r.Method, r.Path, r.Summary)
		}
		if (r.Answer == nil) != (r.Content != "") {
			t.Errorf("%s: it has an answer and a content type, or neither", r.Name)
		}
		if r.Method == "GET" && (r.Request != nil || r.Creates || r.Bundle) || r.Bundle && r.Request == nil || r.Creates && r.Answer == nil {
			t.Errorf("%s: its method does not go with its body", r.Name)
		}
		if e := endpoints[i]; e.Name != r.Name || e.Path != r.Path || e.Who != r.Role.String() {
			t.Errorf("%s: discover says %+v", r.Name, e)
		}
	}
}
