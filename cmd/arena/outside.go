package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/arena"
	"github.com/posttrainarena/arena/protocol/hub"
	"github.com/posttrainarena/arena/protocol/hub/blobcache"
	"github.com/posttrainarena/arena/protocol/hub/github"
	"github.com/posttrainarena/arena/protocol/hub/hfhub"
	"github.com/posttrainarena/arena/protocol/outbound"
	"github.com/posttrainarena/arena/protocol/server"
)

// neighbours are what the arena reaches over the network besides its providers. The
// zero value reaches nothing, which is what the embedded configuration asks for.
type neighbours struct {
	hosts   map[protocol.RepoType]hub.Host
	people  hub.People
	app     func(redirect string) server.SignIn // nil when nobody signs in with a browser
	cache   *blobcache.Cache
	streams []*http.Transport
}

// Connections that the arena keeps to a service for its own questions, and for
// the files of collections.
const (
	peopleConnections = 16
	sourceConnections = 100
)

// openOutside connects what arena.toml switches on. It asks nobody yet: a service
// that is away must not keep the arena from starting.
func openOutside(cfg configs.Config, o nodeOptions) (out neighbours, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, out.close())
		}
	}()
	who, sources := cfg.Arena.Identity, cfg.Arena.Sources
	if who.Mode != configs.IdentityLocal && who.Mode != configs.IdentityHub {
		return out, misconfigured(cfg, "identity.mode", "must be %q or %q", configs.IdentityLocal, configs.IdentityHub)
	}
	hubAt := func(connections int) (hfhub.Options, error) {
		base, err := serviceURL(cfg, "identity.hub_url", who.HubURL)
		return hfhub.Options{URL: base, Transport: out.transport(connections), UserAgent: userAgent(), Now: o.Now, Sleep: o.Sleep, Timeout: o.Timeout}, err
	}
	if who.Mode == configs.IdentityHub {
		at, err := hubAt(peopleConnections)
		if err != nil {
			return out, err
		}
		if who.WhoamiCacheSeconds < 0 {
			return out, misconfigured(cfg, "identity.whoami_cache_seconds", "must not be below zero")
		}
		out.people = hfhub.NewPeople(at, who.EditorOrganization)
		if who.OAuth.ClientID != "" {
			secret, err := secretFrom(cfg, "identity.oauth.client_secret_env", who.OAuth.ClientSecretEnv, o)
			if err != nil {
				return out, err
			}
			out.app = func(redirect string) server.SignIn { return hfhub.NewSignIn(at, who.OAuth.ClientID, secret, redirect) }
		}
	}
	out.hosts = map[protocol.RepoType]hub.Host{}
	if !sources.Dataset.Enabled && !sources.GitHub.Enabled {
		return out, nil
	}
	if err := out.openCache(cfg, o); err != nil {
		return out, err
	}
	limits := task.DefaultLimits()
	check := func(files []protocol.TreeFile) error {
		_, err := arena.Listing(nil, files, limits)
		return err
	}
	if sources.Dataset.Enabled {
		at, err := hubAt(sourceConnections)
		if err != nil {
			return out, err
		}
		token, err := secretFrom(cfg, "sources.dataset.token_env", sources.Dataset.TokenEnv, o)
		if err != nil {
			return out, err
		}
		out.hosts[protocol.RepoDataset] = hfhub.NewDatasets(at, hfhub.DatasetLimits{Files: limits.MaxFiles, Ahead: limits.MaxTextBytes, Check: check}, out.cache, token)
	}
	if sources.GitHub.Enabled {
		at := github.Options{
			Transport: out.transport(peopleConnections), UserAgent: userAgent(), Now: o.Now, Sleep: o.Sleep, Timeout: o.Timeout,
			Files: limits.MaxFiles, Ahead: limits.MaxTextBytes, Check: check,
		}
		for _, u := range []struct {
			key, raw string
			to       *string
		}{
			{"sources.github.api_url", sources.GitHub.APIURL, &at.API},
			{"sources.github.archive_url", sources.GitHub.ArchiveURL, &at.Archives},
			{"sources.github.raw_url", sources.GitHub.RawURL, &at.Raw},
		} {
			if *u.to, err = serviceURL(cfg, u.key, u.raw); err != nil {
				return out, err
			}
		}
		if at.Token, err = secretFrom(cfg, "sources.github.token_env", sources.GitHub.TokenEnv, o); err != nil {
			return out, err
		}
		out.hosts[protocol.RepoGitHub] = github.New(at, out.cache)
	}
	return out, nil
}

// userAgent names this program to the services that it asks.
func userAgent() string { return "posttrain-arena/" + build().Version }

// openCache opens the cache of files from outside, once.
func (out *neighbours) openCache(cfg configs.Config, o nodeOptions) (err error) {
	if out.cache != nil {
		return nil
	}
	if cfg.Arena.Sources.CacheMiB < 1 {
		return misconfigured(cfg, "sources.cache_mib", "must be at least 1")
	}
	out.cache, err = blobcache.Open(filepath.Join(o.Data, "cache"), int64(cfg.Arena.Sources.CacheMiB)<<20, o.Now)
	return err
}

// signIn is how people sign in to an arena that is reached at a base URL; nil when
// they do not.
func (out neighbours) signIn(baseURL string) server.SignIn {
	if out.app == nil {
		return nil
	}
	return out.app(strings.TrimSuffix(baseURL, "/") + "/auth/callback")
}

func (out *neighbours) transport(connections int) *http.Transport {
	t := outbound.NewTransport(connections)
	t.MaxConnsPerHost = connections
	out.streams = append(out.streams, t)
	return t
}

// close lets go of connections and of the cache.
func (out neighbours) close() error {
	for _, t := range out.streams {
		t.CloseIdleConnections()
	}
	if out.cache == nil {
		return nil
	}
	return out.cache.Close()
}

// serviceURL checks the address of a service. Plain http would show tokens to the
// network, so it is for this machine alone.
func serviceURL(cfg configs.Config, key, raw string) (string, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", misconfigured(cfg, key, "must be an address such as https://huggingface.co")
	case u.Scheme == "https", u.Scheme == "http" && (u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost" || u.Hostname() == "::1"):
		return strings.TrimSuffix(raw, "/"), nil
	default:
		return "", misconfigured(cfg, key, "must begin with https://, or with http:// on this machine")
	}
}

// secretFrom reads a secret from the environment variable that the configuration
// names. A name without a value is a mistake; no name is no secret.
func secretFrom(cfg configs.Config, key, name string, o nodeOptions) (string, error) {
	if name == "" {
		return "", nil
	}
	if !configs.IsVariable(name) { // it may be the secret, so it is not repeated
		return "", misconfigured(cfg, key, "is not the name of an environment variable; the token itself does not belong here")
	}
	if o.Getenv == nil {
		return "", fmt.Errorf("%s names a variable, and this arena has no environment", key)
	}
	value := strings.TrimSpace(o.Getenv(name))
	if value == "" {
		return "", misconfigured(cfg, key, "names the environment variable %s, which is not set", name)
	}
	if !isToken(value) {
		return "", misconfigured(cfg, key, "names the environment variable %s, whose value is no token", name)
	}
	return value, nil
}

// isToken reports whether a text can be a token: one word of plain characters.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// misconfigured is a mistake in arena.toml, with its place.
func misconfigured(cfg configs.Config, key, format string, args ...any) error {
	return configs.Problems{cfg.Arena.Origin.Problem(key, format, args...)}.Err()
}
