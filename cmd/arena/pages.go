package main

import (
	"encoding/json"
	"fmt"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/client"
)

// pageFlags choose a part of a list.
type pageFlags struct {
	Limit  rows   `placeholder:"N" help:"Rows to print, 1 to 200."`
	Cursor string `placeholder:"CURSOR" help:"Go on where a page ended: its next_cursor."`
}

func (f pageFlags) page() protocol.Page { return protocol.Page{Limit: int(f.Limit), Cursor: f.Cursor} }

// rows is a number of rows; 0 leaves it to the arena.
type rows int

// Validate refuses numbers of rows that no page has.
func (r rows) Validate() error {
	if r < 0 || r > protocol.MaxPage {
		return fmt.Errorf("must be 1 to %d", protocol.MaxPage)
	}
	return nil
}

// list prints a page and says how to see the next one.
func list[T any](env *environ, a client.Answer[T], err error) error {
	if err != nil {
		return err
	}
	if err := env.answer(a.Raw); err != nil {
		return err
	}
	var page struct {
		Next string `json:"next_cursor"`
	}
	if json.Unmarshal(a.Raw, &page) == nil && page.Next != "" {
		env.say("There is more: add --cursor %s", argument(page.Next))
	}
	return nil
}

// show prints an answer that has no summary.
func show[T any](env *environ, a client.Answer[T], err error) error {
	if err != nil {
		return err
	}
	return env.answer(a.Raw)
}
