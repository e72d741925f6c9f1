package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/posttrainarena/arena/protocol"
)

const agentColumns = "id, owner, description, model, harness, created"

func scanAgent(r scanner) (a protocol.Agent, err error) {
	return a, r.Scan(&a.ID, &a.Owner, &a.Description, &a.Model, &a.Harness, instant{&a.CreatedAt})
}

// Agent returns a registration, or ErrNotFound.
func (s *Store) Agent(ctx context.Context, id string) (a protocol.Agent, err error) {
	err = s.view(ctx, "read agent "+id, func(t *tx) error {
		found, err := t.agent(ctx, id)
		if err != nil {
			return err
		}
		if found == nil {
			return protocol.ErrNotFound.Detailf("No agent is registered as %q.", id)
		}
		a = *found
		return nil
	})
	return a, err
}

// Agents lists registrations, newest first; an empty owner means everybody's.
func (s *Store) Agents(ctx context.Context, owner string, page protocol.Page) (rows []protocol.Agent, next string, err error) {
	var f filter
	f.equal("owner", owner)
	err = s.view(ctx, "list agents", func(t *tx) error {
		rows, next, err = list(ctx, t, page, listQuery[protocol.Agent]{
			name: "agents", columns: agentColumns, from: "agents", at: "created", id: "id", where: f, scan: scanAgent,
			key: func(a protocol.Agent) (int64, string) { return micros(a.CreatedAt), a.ID },
		})
		return err
	})
	return rows, next, err
}

// RegisterAgent registers an agent id. The same registration again returns the
// existing record and true; another owner's is ErrAgentTaken, and other fields
// are ErrAgentChanged.
func (s *Store) RegisterAgent(ctx context.Context, by protocol.Actor, a protocol.Agent) (out protocol.Agent, existing bool, err error) {
	err = s.update(ctx, "register agent "+a.ID, func(t *tx) error {
		found, err := t.agent(ctx, a.ID)
		if err != nil {
			return err
		}
		if found != nil {
			out, existing = *found, true
			return sameAgent(*found, a)
		}
		a.CreatedAt = t.now
		out = a
		_, err = t.ExecContext(ctx, "INSERT INTO agents ("+agentColumns+") VALUES (?, ?, ?, ?, ?, ?)",
			a.ID, a.Owner, a.Description, a.Model, a.Harness, micros(a.CreatedAt))
		if err != nil {
			return err
		}
		return t.audit(ctx, change{by: by, action: "register-agent", object: "agent:" + a.ID, after: a})
	})
	if err != nil {
		return protocol.Agent{}, false, err
	}
	return out, existing, nil
}

func sameAgent(found, asked protocol.Agent) error {
	switch {
	case found.Owner != asked.Owner:
		return protocol.ErrAgentTaken
	case !protocol.SameRegistration(found, asked):
		return protocol.ErrAgentChanged
	default:
		return nil
	}
}

// agent finds a registration; nil when there is none.
func (t *tx) agent(ctx context.Context, id string) (*protocol.Agent, error) {
	a, err := scanAgent(t.QueryRowContext(ctx, "SELECT "+agentColumns+" FROM agents WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &a, err
}

// actsAs returns nil when who may use an agent id, by protocol.ActsAs.
func (t *tx) actsAs(ctx context.Context, who protocol.Identity, agentID string) error {
	if agentID == "" {
		return nil
	}
	found, err := t.agent(ctx, agentID)
	if err != nil {
		return err
	}
	return protocol.ActsAs(who, agentID, found)
}
