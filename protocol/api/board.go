package api

import (
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Message is one post on the board.
type Message struct {
	Filename  string    `json:"filename" doc:"Stable name, the target of refs"`
	RequestID string    `json:"request_id"`
	Author    string    `json:"author"`
	AgentID   *string   `json:"agent_id"`
	Body      string    `json:"body"`
	Refs      []string  `json:"refs"`
	Broadcast bool      `json:"broadcast"`
	CreatedAt time.Time `json:"created_at"`
	Existing  bool      `json:"existing,omitempty" doc:"The same message was posted before with this request_id"`
}

// PostMessage asks to post on the board.
type PostMessage struct {
	RequestID string   `json:"request_id" doc:"8 to 120 characters of A-Z a-z 0-9 . _ -; repeating it posts nothing twice"`
	AgentID   *string  `json:"agent_id,omitempty" doc:"A registered agent of yours, or null to post as yourself"`
	Body      string   `json:"body" doc:"1 to 10,000 characters"`
	Refs      []string `json:"refs,omitempty" doc:"Filenames of the messages this one replies to"`
	Broadcast bool     `json:"broadcast,omitempty" doc:"Only false is accepted"`
}

// Messages is a page of the board, newest first.
type Messages struct {
	Messages []Message `json:"messages"`
	Next     *string   `json:"next_cursor"`
}

// MessageFrom maps a post to the wire.
func MessageFrom(m protocol.Message) Message {
	return Message{
		Filename: m.Filename, RequestID: m.RequestID, Author: m.Author, AgentID: Optional(m.AgentID), Body: m.Body,
		Refs: append([]string{}, m.Refs...), CreatedAt: m.CreatedAt,
	}
}

// Message is the post that the request asks author to make.
func (p PostMessage) Message(author string) protocol.Message {
	return protocol.Message{RequestID: p.RequestID, Author: author, AgentID: value(p.AgentID), Body: p.Body, Refs: p.Refs}
}
