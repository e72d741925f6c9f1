package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/posttrainarena/arena/fixture"
	"github.com/posttrainarena/arena/protocol/mcpserver"
)

// bearer signs the requests of a client.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// toolCaller is a client of the tools as one account.
type toolCaller struct {
	t       *testing.T
	session *mcp.ClientSession
}

func connectTools(t *testing.T, url, token string) toolCaller {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return toolCaller{t, session}
}

// call calls a tool and returns what it answered and whether that is an error.
func (c toolCaller) call(tool string, arguments map[string]any) (mcpserver.Output, bool) {
	c.t.Helper()
	if arguments == nil {
		arguments = map[string]any{}
	}
	res, err := c.session.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	raw, err := json.Marshal(res.StructuredContent)
	var out mcpserver.Output
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil || out.Status == "" || out.Next.Why == "" || !json.Valid(out.Result) {
		c.t.Fatalf("%s answers no status, JSON and next step: %v %s", tool, err, raw)
	}
	return out, res.IsError
}

// want calls a tool that must work.
func (c toolCaller) want(tool string, arguments map[string]any) mcpserver.Output {
	c.t.Helper()
	out, failed := c.call(tool, arguments)
	if failed {
		c.t.Fatalf("%s(%v): %s: %s", tool, arguments, out.Status, out.Result)
	}
	return out
}

// toolFiles is the sample collection as a tool takes it.
func toolFiles(t *testing.T) []map[string]any {
	t.Helper()
	sample, err := fixture.Collection("sample")
	if err != nil {
		t.Fatal(err)
	}
	var files []map[string]any
	err = fs.WalkDir(sample, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sample, name)
		files = append(files, map[string]any{"path": name, "text": string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestToolsCompleteTheLoop takes a collection from nothing to a reviewed result
// with the tools alone, as the official SDK's client calls them, following what
// each answer says comes next.
func TestToolsCompleteTheLoop(t *testing.T) {
	url, data := startUp(t, "--speed", "30000")
	token := func(name string) string {
		raw, err := os.ReadFile(filepath.Join(data, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(raw))
	}
	newcomer, organizer, nobody := connectTools(t, url, token("newcomer.token")), connectTools(t, url, token(organizerFile)), connectTools(t, url, "")

	listed, err := newcomer.session.ListTools(t.Context(), nil)
	if err != nil || len(listed.Tools) < 17 {
		t.Fatalf("%d tools: %v", len(listed.Tools), err)
	}
	var names []string
	for _, tool := range listed.Tools {
		if names = append(names, tool.Name); tool.Description == "" || tool.InputSchema == nil {
			t.Errorf("%s says nothing of itself", tool.Name)
		}
	}

	// From here on every step is the one that the answer before named. What only
	// the caller can know is filled in.
	files := toolFiles(t)
	own := map[string]map[string]any{
		"validate": {"challenge_id": "tb2-9b", "agent_id": "newcomer-agent", "files": files},
		"submit":   {"challenge_id": "tb2-9b", "agent_id": "newcomer-agent", "files": files, "title": "By tools"},
	}
	var path []string
	ran, submitted := map[string]any{}, map[string]any{}
	step := newcomer.want("guide", nil).Next
	for len(path) < 2000 && step.Tool != "" {
		if !slices.Contains(names, step.Tool) {
			t.Fatalf("after %v the next tool is %s, which is none", path, step.Tool)
		}
		arguments := step.Arguments
		if a := own[step.Tool]; a != nil {
			arguments = a
		}
		out := newcomer.want(step.Tool, arguments)
		if len(path) == 0 || path[len(path)-1] != step.Tool {
			path = append(path, step.Tool)
		}
		if step.Tool == "collect" {
			ran = map[string]any{"challenge_id": arguments["challenge_id"], "run_id": arguments["run_id"]}
		}
		if step.Tool == "preflight" {
			submitted = arguments
		}
		if out.Status != "done" && out.Status != "still running" && step.Tool != "preflight" {
			t.Fatalf("%s: %s: %s", step.Tool, out.Status, out.Result)
		}
		step = out.Next
	}
	want := []string{"whoami", "register_agent", "board_post", "challenges", "validate", "submit", "preflight", "launch", "run", "collect", "leaderboard"}
	if !slices.Equal(path, want) {
		t.Errorf("the steps are %v, want %v", path, want)
	}

	// The same rights as everywhere: reviews are for editors, and nobody launches.
	review := map[string]any{"challenge_id": ran["challenge_id"], "run_id": ran["run_id"], "accepted": true, "note": "Looked at, and it holds together."}
	for who, c := range map[string]toolCaller{"editor-only": newcomer, "signed-out": nobody} {
		if out, failed := c.call("review", review); !failed || out.Status != "refused" || !strings.Contains(string(out.Result), who) {
			t.Errorf("a review is answered %s: %s", out.Status, out.Result)
		}
	}
	if out := nobody.want("leaderboard", map[string]any{"challenge_id": "tb2-9b"}); !strings.Contains(string(out.Result), `"pending_count":1`) {
		t.Errorf("the leaderboard: %s", out.Result)
	}
	organizer.want("review", review)
	if out := nobody.want("leaderboard", map[string]any{"challenge_id": "tb2-9b"}); !strings.Contains(string(out.Result), `"author":"newcomer"`) {
		t.Errorf("the leaderboard after the review: %s", out.Result)
	}
	if out := nobody.want("findings", submitted); !strings.Contains(string(out.Result), `"by_code"`) {
		t.Errorf("the findings: %s", out.Result)
	}
	if out := newcomer.want("attempts", ran); !strings.Contains(string(out.Result), `"forecast"`) {
		t.Errorf("the attempts: %s", out.Result)
	}
	// What cannot be is refused in the same form.
	for tool, arguments := range map[string]map[string]any{
		"run":      {"challenge_id": "tb2-9b", "run_id": "challenge-000000000000", "wait_seconds": 0},
		"launch":   {"challenge_id": "tb2-9b", "environment_id": "env-000000000000", "request_id": "request-0001"},
		"validate": {"challenge_id": "tb2-9b", "files": []map[string]any{{"path": "../x", "text": ""}}},
	} {
		if out, failed := newcomer.call(tool, arguments); !failed || out.Status != "refused" {
			t.Errorf("%s(%v): %s: %s", tool, arguments, out.Status, out.Result)
		}
	}
}

// TestToolsRefuseOtherSites: a page of another site cannot call the tools.
func TestToolsRefuseOtherSites(t *testing.T) {
	url, _ := startUp(t)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/mcp", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "https://elsewhere.example.org")
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a page of another site is answered %s", res.Status)
	}
}
