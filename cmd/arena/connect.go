package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/posttrainarena/arena/protocol/client"
)

// tokenPlaces names where a token is looked for, in order.
const tokenPlaces = "ARENA_TOKEN, HF_TOKEN, $HF_TOKEN_PATH, $HF_HOME/token, ~/.cache/huggingface/token"

// maxTokenFile bounds how much of a token file is read.
const maxTokenFile = 64 << 10

// reader is a client for public reads. It has no token and looks for none.
func (env *environ) reader() (*client.Client, error) {
	return env.client(client.Token{}, false)
}

// signed is a client that acts as the caller. Without a token it is still one:
// the arena's answer says what is missing.
func (env *environ) signed() (*client.Client, error) {
	token, err := env.token()
	if err != nil {
		return nil, err
	}
	return env.client(token, false)
}

// reads is a client for public reads that shows the caller's token when asked
// to, so that an editor sees evidence links.
func (env *environ) reads(signed bool) (*client.Client, error) {
	if !signed {
		return env.reader()
	}
	token, err := env.token()
	if err != nil {
		return nil, err
	}
	return env.client(token, true)
}

func (env *environ) client(token client.Token, signReads bool) (*client.Client, error) {
	return client.New(client.Options{
		BaseURL: env.baseURL(), Token: token, SignReads: signReads, HTTP: env.Transport, UserAgent: "arena/" + build().Version,
		Sleep: env.Sleep, Log: env.say,
	})
}

// baseURL is --url, else ARENA_URL, else this machine.
func (env *environ) baseURL() string {
	for _, u := range []string{env.URL, env.Getenv("ARENA_URL")} {
		if u != "" {
			return u
		}
	}
	return client.DefaultURL
}

// token looks for a token in the places that tokenPlaces names and takes the
// first that is there (PROTOCOL §16). No token is the zero one. A token that
// cannot be one is refused with the name of its place, never its text.
func (env *environ) token() (client.Token, error) {
	for _, name := range []string{"ARENA_TOKEN", "HF_TOKEN"} {
		if text := env.Getenv(name); strings.TrimSpace(text) != "" {
			t, err := client.NewToken(text)
			if err != nil {
				return t, usagef("%s: %w", name, err)
			}
			return t, nil
		}
	}
	for _, file := range env.tokenFiles() {
		raw, err := readTokenFile(file)
		if err != nil {
			return client.Token{}, usagef("read the token in %s: %w", file, err)
		}
		if strings.TrimSpace(raw) == "" {
			continue
		}
		t, err := client.NewToken(raw)
		if err != nil {
			return t, usagef("%s: %w", file, err)
		}
		return t, nil
	}
	return client.Token{}, nil
}

// tokenFiles lists the files that may hold a token, in order.
func (env *environ) tokenFiles() []string {
	var files []string
	if path := env.Getenv("HF_TOKEN_PATH"); path != "" {
		files = append(files, path)
	}
	if home := env.Getenv("HF_HOME"); home != "" {
		files = append(files, filepath.Join(home, "token"))
	}
	if home, err := env.HomeDir(); err == nil && home != "" {
		files = append(files, filepath.Join(home, ".cache", "huggingface", "token"))
	}
	return files
}

// readTokenFile reads a token file; a missing one is empty.
func readTokenFile(name string) (string, error) {
	f, err := os.Open(name)
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	return string(raw), err
}
