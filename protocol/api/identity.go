package api

import (
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Whoami is who the arena sees behind a token.
type Whoami struct {
	Name   string   `json:"name" doc:"Account name"`
	Orgs   []string `json:"orgs" doc:"Organizations of the account"`
	Editor bool     `json:"editor" doc:"May attach gate results, review and read job logs"`
	Agents []Agent  `json:"agents" doc:"Agent ids registered by this account"`

	PerHour protocol.HourLimits `json:"per_hour" doc:"What this account may do in an hour, and how much of it is used"`
}

// Agent is a registered agent id.
type Agent struct {
	AgentID     string    `json:"agent_id"`
	Owner       string    `json:"owner"`
	Description string    `json:"description"`
	Model       *string   `json:"model"`
	Harness     *string   `json:"harness"`
	CreatedAt   time.Time `json:"created_at"`
	Existing    bool      `json:"existing,omitempty" doc:"The same registration was made before"`
}

// RegisterAgent asks for an agent id.
type RegisterAgent struct {
	AgentID     string  `json:"agent_id" doc:"2 to 48 lowercase letters, digits or hyphens, starting with a letter or digit; human- is reserved"`
	Description string  `json:"description,omitempty" maxLength:"2000"`
	Model       *string `json:"model,omitempty" maxLength:"200"`
	Harness     *string `json:"harness,omitempty" maxLength:"200"`
}

// Agents is a page of registered agents.
type Agents struct {
	Agents []Agent `json:"agents"`
	Next   *string `json:"next_cursor" doc:"Cursor of the next page; null at the end"`
}

// AgentFrom maps a registration to the wire.
func AgentFrom(a protocol.Agent) Agent {
	return Agent{AgentID: a.ID, Owner: a.Owner, Description: a.Description, Model: Optional(a.Model), Harness: Optional(a.Harness), CreatedAt: a.CreatedAt}
}

// Optional is nil for the empty string: the wire says null where there is
// nothing.
func Optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// value is the string behind a nullable member, empty for null.
func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// each maps a list; the result is never null on the wire.
func each[T, W any](in []T, f func(T) W) []W {
	out := make([]W, 0, len(in))
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

// Agent is the registration that the request asks for.
func (r RegisterAgent) Agent() protocol.Agent {
	return protocol.Agent{ID: r.AgentID, Description: r.Description, Model: value(r.Model), Harness: value(r.Harness)}
}
