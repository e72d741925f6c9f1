package store

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/posttrainarena/arena/protocol"
)

const messageColumns = "filename, request_id, author, agent, body, refs, created"

func scanMessage(r scanner) (m protocol.Message, err error) {
	return m, r.Scan(&m.Filename, &m.RequestID, &m.Author, maybeText{&m.AgentID}, &m.Body, asJSON{&m.Refs}, instant{&m.CreatedAt})
}

// Message returns a message by its filename, or ErrNotFound.
func (s *Store) Message(ctx context.Context, filename string) (m protocol.Message, err error) {
	err = s.view(ctx, "read message "+filename, func(t *tx) error {
		m, err = t.message(ctx, filename)
		return err
	})
	return m, err
}

// Messages lists the board, newest first.
func (s *Store) Messages(ctx context.Context, page protocol.Page) (rows []protocol.Message, next string, err error) {
	err = s.view(ctx, "list messages", func(t *tx) error {
		rows, next, err = list(ctx, t, page, listQuery[protocol.Message]{
			name: "messages", columns: messageColumns, from: "messages", at: "created", id: "filename", scan: scanMessage,
			key: func(m protocol.Message) (int64, string) { return micros(m.CreatedAt), m.Filename },
		})
		return err
	})
	return rows, next, err
}

// PostMessage posts a message and gives it its filename. The same request id
// with the same author and text returns the first post and true, with others it
// is ErrRequestReused. Refs to messages that do not exist are ErrInvalid.
func (s *Store) PostMessage(ctx context.Context, by protocol.Actor, m protocol.Message) (out protocol.Message, existing bool, err error) {
	if err := protocol.CheckRequestID(m.RequestID); err != nil {
		return out, false, err
	}
	m.Refs = present(m.Refs)
	body := bodyHash(append([]string{m.AgentID, m.Body}, m.Refs...)...)
	full := s.room()
	err = s.update(ctx, "post message "+m.RequestID, func(t *tx) error {
		first, found, err := t.request(ctx, requestMessage, m.RequestID)
		if err != nil {
			return err
		}
		if found {
			if first.owner != m.Author || first.body != body {
				return protocol.ErrRequestReused
			}
			existing = true
			out, err = t.message(ctx, first.object)
			return err
		}
		if full != nil {
			return full
		}
		if err := t.checkMessage(ctx, m); err != nil {
			return err
		}
		m.CreatedAt = t.now
		suffix := bodyHash(requestMessage, m.RequestID)
		m.Filename = protocol.MessageFilename(m, hex.EncodeToString(suffix[:6]))
		out = m
		return t.insertMessage(ctx, by, m, request{owner: m.Author, body: body, object: m.Filename})
	})
	return out, existing, err
}

// checkMessage looks up what a post refers to: its agent and its refs.
func (t *tx) checkMessage(ctx context.Context, m protocol.Message) error {
	if err := t.actsAs(ctx, protocol.Identity{Name: m.Author}, m.AgentID); err != nil {
		return err
	}
	var missing []protocol.FieldError
	for i, ref := range m.Refs {
		var there bool
		if err := t.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM messages WHERE filename = ?)", ref).Scan(&there); err != nil {
			return err
		}
		if !there {
			missing = append(missing, protocol.FieldError{Field: fmt.Sprintf("refs[%d]", i), Message: "there is no message with this filename"})
		}
	}
	if missing != nil {
		return protocol.ErrInvalid.Detailf("%d of the messages that refs names do not exist.", len(missing)).WithFields(missing...)
	}
	return nil
}

func (t *tx) insertMessage(ctx context.Context, by protocol.Actor, m protocol.Message, r request) error {
	_, err := t.ExecContext(ctx, "INSERT INTO messages ("+messageColumns+") VALUES (?, ?, ?, ?, ?, ?, ?)",
		m.Filename, m.RequestID, m.Author, textOrNull(m.AgentID), m.Body, asJSON{m.Refs}, micros(m.CreatedAt))
	if err != nil {
		return err
	}
	if err := t.remember(ctx, requestMessage, m.RequestID, r); err != nil {
		return err
	}
	if err := t.audit(ctx, change{by: by, action: "post", object: "message:" + m.Filename, after: m}); err != nil {
		return err
	}
	return t.emit(ctx, protocol.Event{Kind: protocol.EventMessage, Message: m.Filename})
}

func (t *tx) message(ctx context.Context, filename string) (protocol.Message, error) {
	return one(t.QueryRowContext(ctx, "SELECT "+messageColumns+" FROM messages WHERE filename = ?", filename), scanMessage,
		protocol.ErrNotFound.Detailf("There is no message called %q.", filename))
}
