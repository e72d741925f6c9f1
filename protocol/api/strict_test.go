package api_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// route returns a route of the table by name.
func route(t testing.TB, name string) api.Route {
	t.Helper()
	for _, r := range api.Routes() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("there is no route %s", name)
	panic("unreachable")
}

// TestDecode reads a board message of every member.
func TestDecode(t *testing.T) {
	agent := "adas-agent"
	for body, want := range map[string]api.PostMessage{
		`{"request_id":"message-001","body":"Hello."}`:                                                              {RequestID: "message-001", Body: "Hello."},
		" {\"body\" : \"\u0048ello.\\n\", \"request_id\":\"message-001\"}\n":                                        {RequestID: "message-001", Body: "Hello.\n"},
		`{"request_id":"message-001","agent_id":null,"body":"","refs":null,"broadcast":null}`:                       {RequestID: "message-001"},
		`{"request_id":"message-001","agent_id":"adas-agent","body":"Hi.","refs":["a.md","b.md"],"broadcast":true}`: {RequestID: "message-001", AgentID: &agent, Body: "Hi.", Refs: []string{"a.md", "b.md"}, Broadcast: true},
		`{"request_id":"message-001","body":"` + strings.Repeat("ä", 20_000) + `"}`:                                 {RequestID: "message-001", Body: strings.Repeat("ä", 20_000)},
		`{"request_id":"message-001","body":"` + `\ud83d\ude00` + `"}`:                                              {RequestID: "message-001", Body: "😀"},
	} {
		var got api.PostMessage
		if err := api.NewSchemas().Decode(route(t, "postMessage"), []byte(body), &got); err != nil {
			t.Errorf("%.80s: %v", body, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.80s (-want +got):\n%s", body, diff)
		}
	}
}

// TestDecodeRefuses has a row for each way in which a body can be wrong: what
// cannot be read is malformed (400), what can be read and has another form is
// invalid (422) and names each member that is wrong.
func TestDecodeRefuses(t *testing.T) {
	malformed, invalid := protocol.ErrMalformed, protocol.ErrInvalid
	deep := strings.Repeat("[", 17) + strings.Repeat("]", 17)
	for _, c := range []struct {
		body   string
		want   *protocol.Error
		detail string   // part of it
		fields []string // wrong members
	}{
		{``, malformed, "ends early", nil},
		{`{`, malformed, "ends early", nil},
		{`{"request_id":"message-001","body":"Hello."`, malformed, "ends early", nil},
		{`hello`, malformed, "invalid character", nil},
		{`{"request_id":"message-001","body":"a"}{}`, malformed, "data after", nil},
		{`{"request_id":"message-001","body":"a"} x`, malformed, "data after", nil},
		{`{"request_id":"message-001","body":"a",}`, malformed, "", nil},
		{`{'request_id':'message-001'}`, malformed, "invalid character", nil},
		{`{"request_id":"message-001","request_id":"message-002","body":"a"}`, malformed, `"request_id" stands twice`, nil},
		{`{"request_id":"message-001","body":"a","refs":[{"x":1,"x":2}]}`, malformed, `"x" stands twice`, nil},
		{"{\"request_id\":\"message-001\",\"body\":\"\xff\"}", malformed, "UTF-8", nil},
		{"\xef\xbb\xbf{}", malformed, "invalid character", nil},
		{`{"request_id":"message-001","body":"a","refs":` + deep + `}`, malformed, "deeper than 16", nil},
		{strings.Repeat("[", 100_000), malformed, "deeper than 16", nil},
		{`{"request_id":"message-001","body":"a","refs":[1e999]}`, malformed, "out of range", nil},
		{`{"request_id":"message-001","body":"a","refs":[` + strings.Repeat("9", 400) + `]}`, malformed, "out of range", nil},
		{`{"request_id":"message-001","body":"a","broadcast":NaN}`, malformed, "invalid character", nil},

		{`null`, invalid, "(body) expected object", []string{"(body)"}},
		{`"hello"`, invalid, "(body) expected object", []string{"(body)"}},
		{`[{}]`, invalid, "(body) expected object", []string{"(body)"}},
		{`{}`, invalid, "body is required", []string{"body", "request_id"}},
		{`{"request_id":"message-001"}`, invalid, "body is required", []string{"body"}},
		{`{"request_id":null,"body":"a"}`, invalid, "expected string", []string{"request_id"}},
		{`{"request_id":17,"body":["a"]}`, invalid, "expected string", []string{"body", "request_id"}},
		{`{"request_id":"message-001","body":"a","refs":"b.md"}`, invalid, "expected array", []string{"refs"}},
		{`{"request_id":"message-001","body":"a","refs":["b.md",2,{"c":"d"}]}`, invalid, "expected string", []string{"refs[1]", "refs[2]"}},
		{`{"request_id":"message-001","body":"a","broadcast":"no"}`, invalid, "expected boolean", []string{"broadcast"}},
		{`{"request_id":"message-001","body":"a","broadcast":0}`, invalid, "expected boolean", []string{"broadcast"}},
		{`{"request_id":"message-001","body":"a","urgent":true}`, invalid, "unexpected property", []string{"urgent"}},
		// Names are exact. Go's decoder would take all of these for request_id.
		{`{"Request_ID":"message-001","body":"a"}`, invalid, "unexpected property", []string{"Request_ID", "request_id"}},
		{`{"request_id":"message-001","REQUEST_ID":"message-002","body":"a"}`, invalid, "unexpected property", []string{"REQUEST_ID"}},
		{`{"request_id":"message-001","reque` + "\u017f" + `t_id":"message-002","body":"a"}`, invalid, "unexpected property", []string{"reque\u017ft_id"}},
		{`{"":"","body":"a","request_id":"message-001"}`, invalid, "unexpected property", []string{""}},
	} {
		var into api.PostMessage
		err := api.NewSchemas().Decode(route(t, "postMessage"), []byte(c.body), &into)
		e, ok := errors.AsType[*protocol.Error](err)
		if !ok || !errors.Is(err, c.want) || !strings.Contains(e.Detail, c.detail) {
			t.Errorf("%.90s: %v\nwant %s: …%s…", c.body, err, c.want.Code, c.detail)
			continue
		}
		var fields []string
		for _, f := range e.Fields {
			fields = append(fields, f.Field)
			if f.Message == "" {
				t.Errorf("%.90s: nothing is said about %q", c.body, f.Field)
			}
		}
		if diff := cmp.Diff(c.fields, fields); diff != "" {
			t.Errorf("%.90s: wrong members (-want +got):\n%s", c.body, diff)
		}
		if into.RequestID+into.Body != "" {
			t.Errorf("%.90s: a refused body was decoded into %+v", c.body, into)
		}
	}
}

// TestDecodeBoundsItsAnswer sends a body of nothing but wrong members. The
// refusal must not be larger than what was sent.
func TestDecodeBoundsItsAnswer(t *testing.T) {
	wrong := map[string]int{}
	for i := range 50_000 {
		wrong[strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("y", i/26%40)+strings.Repeat("z", i/1040)] = i
	}
	body, err := json.Marshal(wrong)
	if err != nil {
		t.Fatal(err)
	}
	var into api.LaunchRequest
	refusal := protocol.AsError(api.NewSchemas().Decode(route(t, "launch"), body, &into))
	if n := len(refusal.Fields); n == 0 || n > 50 || len(refusal.Detail) > 1000 {
		t.Errorf("the refusal names %d members in %d bytes", n, len(refusal.Detail))
	}
}

// FuzzDecode feeds arbitrary bytes to every route that reads a body. What is
// accepted must be JSON, must mean to Go's decoder what it was decoded into, and
// must be accepted again once it is encoded; what is not accepted is one of two
// kinds of refusal.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		`{"request_id":"message-001","agent_id":null,"body":"Hello.","refs":["a.md"],"broadcast":false}`,
		`{"agent_id":"adas-agent","description":"Sorts.","model":null,"harness":"opencode"}`,
		`{"request_id":"request-001","environment_id":"env-0123456789ab"}`,
		`{"challenge_id":"tb2-9b","repo_type":"github","repo_id":"ada/tasks","revision":"main","entry_path":"a/b"}`,
		`{"accepted":true,"note":"The outcomes agree with the report."}`,
		`{"accepted":1e999}`, `{"a":{"a":{"a":[]}}}`, `[1,]`, `{"a":1 "b":2}`, "{\"\xff\":0}", `{"accepted":true}{}`,
	} {
		f.Add([]byte(body))
	}
	schemas := api.NewSchemas()
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, r := range api.Routes() {
			if r.Request == nil {
				continue
			}
			into, plain, again := fresh(r), fresh(r), fresh(r)
			if err := schemas.Decode(r, body, into); err != nil {
				if kind := protocol.AsError(err).Kind; kind != protocol.KindMalformed && kind != protocol.KindInvalid {
					t.Fatalf("%s: %v", r.Name, err)
				}
				continue
			}
			if err := json.Unmarshal(body, plain); err != nil {
				t.Fatalf("%s accepts what is not JSON: %v", r.Name, err)
			}
			encoded, err := json.Marshal(into)
			if err != nil {
				t.Fatal(err)
			}
			if err := schemas.Decode(r, encoded, again); err != nil {
				t.Fatalf("%s refuses its own encoding %s: %v", r.Name, encoded, err)
			}
			if diff := cmp.Diff(plain, into) + cmp.Diff(into, again); diff != "" {
				t.Fatalf("%s:\n%s", r.Name, diff)
			}
		}
	})
}

// fresh is a pointer to a zero value of a route's request type.
func fresh(r api.Route) any { return reflect.New(reflect.TypeOf(r.Request)).Interface() }
