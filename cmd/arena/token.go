package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
)

// tokenCmd manages the tokens that this arena issues itself. It works on the
// data directory, beside a running server too.
type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Make a token and print it, once; only its hash is kept."`
	List   tokenListCmd   `cmd:"" help:"List the tokens, without their secrets."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token by its id, or every token of a name."`
}

// dataFlag names the data directory of an arena.
type dataFlag struct {
	Data string `placeholder:"DIR" help:"Data directory of the arena. Default: ${default_data}."`
}

// open opens the store, beside the server that may be running on it, and makes
// one where there is none.
func (f dataFlag) open(ctx context.Context, env *environ) (*store.Store, error) {
	dir, err := f.dir(env)
	if err != nil {
		return nil, err
	}
	return store.OpenBeside(ctx, store.Options{Dir: dir, Now: env.Now, Logger: env.logger(false)})
}

// dir is the data directory that the flag names, or the default one.
func (f dataFlag) dir(env *environ) (string, error) {
	if f.Data != "" {
		return f.Data, nil
	}
	return env.dataDir()
}

// look opens the store to look at it: nothing in it changes, and a server may be
// running on it.
func (f dataFlag) look(ctx context.Context, env *environ) (*store.Store, error) {
	dir, err := f.dir(env)
	if err != nil {
		return nil, err
	}
	st, err := store.OpenReading(ctx, store.Options{Dir: dir, Now: env.Now, Logger: env.logger(false)})
	return st, noArena(dir, err)
}

// noArena says what to do where a directory that was named holds no arena.
func noArena(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no arena in %s; name its data directory with --data: %w", dir, err)
	}
	return err
}

type tokenCreateCmd struct {
	dataFlag
	Name   string `required:"" help:"The account that the token signs in as."`
	Editor bool   `help:"The account is an editor: it reviews, and sees logs and evidence."`
}

// Run prints the new token, alone, on standard output.
func (cmd *tokenCreateCmd) Run(ctx context.Context, env *environ) error {
	if err := protocol.CheckAccountName(cmd.Name); err != nil {
		return usagef("--name: %w", err)
	}
	st, err := cmd.open(ctx, env)
	if err != nil {
		return err
	}
	defer st.Close()
	secret, err := issueToken(ctx, st, env.Now(), cmd.Name, cmd.Editor)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.Stdout, secret)
	return err
}

// issueToken makes a token, stores its hash and returns the secret.
func issueToken(ctx context.Context, st *store.Store, now time.Time, name string, editor bool) (string, error) {
	secret := protocol.TokenPrefix + rand.Text() + rand.Text()
	t := protocol.Token{ID: "tok-" + rand.Text()[:12], Name: name, Editor: editor, CreatedAt: now.UTC()}
	err := st.CreateToken(ctx, protocol.Actor{Name: protocol.ActorArena}, t, sha256.Sum256([]byte(secret)))
	return secret, err
}

type tokenListCmd struct {
	dataFlag
}

// tokenRow is a token as the list shows it.
type tokenRow struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Editor    bool       `json:"editor"`
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at"`
}

// Run prints the tokens as JSON.
func (cmd *tokenListCmd) Run(ctx context.Context, env *environ) error {
	st, err := cmd.look(ctx, env)
	if err != nil {
		return err
	}
	defer st.Close()
	tokens, err := st.Tokens(ctx)
	if err != nil {
		return err
	}
	rows := make([]tokenRow, 0, len(tokens))
	for _, t := range tokens {
		rows = append(rows, tokenRow{t.ID, t.Name, t.Editor, t.CreatedAt, t.RevokedAt})
	}
	return env.document(map[string]any{"tokens": rows})
}

type tokenRevokeCmd struct {
	dataFlag
	Token string `arg:"" name:"id-or-name" help:"The id of a token, or the name whose tokens are all revoked."`
}

// Run revokes and says how many.
func (cmd *tokenRevokeCmd) Run(ctx context.Context, env *environ) error {
	dir, err := cmd.dir(env)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, store.DatabaseName)); err != nil {
		return noArena(dir, err) // a wrong directory must not become an arena
	}
	st, err := cmd.open(ctx, env)
	if err != nil {
		return err
	}
	defer st.Close()
	n, err := st.RevokeToken(ctx, protocol.Actor{Name: protocol.ActorArena}, cmd.Token)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("no live token has the id or name %q; arena token list shows them", cmd.Token)
	}
	return env.document(map[string]int{"revoked": n})
}

// document prints a value as the verb's one JSON document.
func (env *environ) document(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return env.answer(raw)
}
