package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// criterionTime bounds each request of the validation, as the original does.
const criterionTime = 5 * time.Second

// maxAnswer bounds what is read of an HTTP answer.
const maxAnswer = 4 << 20

// Verdict is the report of `openenv validate --url` (src: OpenEnv
// cli/_validation.py).
type Verdict struct {
	Target   string      `json:"target"`
	Type     string      `json:"validation_type"`
	Version  string      `json:"standard_version"`
	Profile  string      `json:"standard_profile"`
	Mode     string      `json:"mode"` // "simulation", "production" or "unknown"
	Passed   bool        `json:"passed"`
	Summary  Summary     `json:"summary"`
	Criteria []Criterion `json:"criteria"`
}

// Summary counts the criteria of a Verdict.
type Summary struct {
	PassedCount         int      `json:"passed_count"`
	TotalCount          int      `json:"total_count"`
	FailedCriteria      []string `json:"failed_criteria"`
	RequiredPassedCount int      `json:"required_passed_count"`
	RequiredTotalCount  int      `json:"required_total_count"`
}

// Criterion is one of the six.
type Criterion struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Passed      bool   `json:"passed"`
	Required    bool   `json:"required"`
	Details     string `json:"details,omitempty"` // why it does not pass
}

// Validate judges a running server by the six criteria of `openenv validate`.
func Validate(ctx context.Context, c *http.Client, url string) Verdict {
	url = strings.TrimSuffix(url, "/")
	v := Verdict{Target: url, Type: "running_environment", Version: "unknown", Profile: "openenv-http/unknown", Mode: "unknown", Summary: Summary{FailedCriteria: []string{}}}
	judge := func(id, description, why string) {
		v.Criteria = append(v.Criteria, Criterion{ID: id, Description: description, Passed: why == "", Required: true, Details: why})
		v.Summary.TotalCount++
		if why == "" {
			v.Summary.PassedCount++
		} else {
			v.Summary.FailedCriteria = append(v.Summary.FailedCriteria, id)
		}
	}
	api, why := ask(ctx, c, http.MethodGet, url+"/openapi.json", "")
	info, _ := api["info"].(map[string]any)
	version, isText := info["version"].(string)
	if why == "" && !isText {
		why = "info.version is no string"
	}
	if isText {
		v.Version = version
		if strings.HasPrefix(version, "1.") {
			v.Profile = "openenv-http/1.x"
		}
	}
	judge("openapi_version_available", "GET /openapi.json returns a document with info.version", why)

	m, why := ask(ctx, c, http.MethodGet, url+"/health", "")
	if why == "" && m["status"] != "healthy" {
		why = fmt.Sprintf("status is %v, not healthy", m["status"])
	}
	judge("health_endpoint", "GET /health returns healthy", why)

	m, why = ask(ctx, c, http.MethodGet, url+"/metadata", "")
	for _, name := range []string{"name", "description"} {
		if _, ok := m[name].(string); why == "" && !ok {
			why = name + " is no string"
		}
	}
	judge("metadata_endpoint", "GET /metadata returns a name and a description", why)

	m, why = ask(ctx, c, http.MethodGet, url+"/schema", "")
	for _, name := range []string{"action", "observation", "state"} {
		if _, ok := m[name].(map[string]any); why == "" && !ok {
			why = name + " is no object"
		}
	}
	judge("schema_endpoint", "GET /schema returns the schemas of action, observation and state", why)

	m, why = ask(ctx, c, http.MethodPost, url+"/mcp", "{}")
	if why == "" && m["jsonrpc"] != "2.0" {
		why = fmt.Sprintf("jsonrpc is %v, not 2.0", m["jsonrpc"])
	}
	judge("mcp_endpoint", "POST /mcp speaks JSON-RPC", why)

	paths, _ := api["paths"].(map[string]any)
	has := func(name string) bool { _, ok := paths[name]; return ok }
	why = ""
	switch {
	case len(paths) == 0:
		why = "the OpenAPI document lists no paths"
	case has("/reset"):
		v.Mode = "simulation"
		if !has("/step") || !has("/state") {
			why = "with /reset there must be /step and /state"
		}
	default:
		v.Mode = "production"
		if has("/step") || has("/state") {
			why = "without /reset there must be neither /step nor /state"
		}
	}
	judge("mode_endpoint_consistency", "the listed endpoints fit one mode", why)

	v.Summary.RequiredTotalCount, v.Summary.RequiredPassedCount = v.Summary.TotalCount, v.Summary.PassedCount
	v.Passed = len(v.Summary.FailedCriteria) == 0
	return v
}

// ask sends a request and decodes the JSON object that must come back with a 200;
// why says what was wrong with it instead.
func ask(ctx context.Context, c *http.Client, method, url, body string) (m map[string]any, why string) {
	raw, why := fetch(ctx, c, method, url, body, criterionTime)
	if why != "" {
		return nil, why
	}
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return nil, "the answer is no JSON object"
	}
	return m, ""
}

// fetch sends a request whose answer must be a 200.
func fetch(ctx context.Context, c *http.Client, method, url, body string, within time.Duration) (raw []byte, why string) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err.Error()
	}
	r.Header.Set("Accept", "application/json")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := c.Do(r)
	if err != nil {
		return nil, err.Error()
	}
	defer a.Body.Close()
	raw, err = io.ReadAll(io.LimitReader(a.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err.Error()
	case a.StatusCode != http.StatusOK:
		return nil, fmt.Sprintf("status %d", a.StatusCode)
	case len(raw) > maxAnswer:
		return nil, fmt.Sprintf("the answer is larger than %d bytes", maxAnswer)
	}
	return raw, ""
}
