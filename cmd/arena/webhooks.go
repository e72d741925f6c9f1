package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/webhooks"
	"github.com/posttrainarena/arena/store"
)

// The one place where the store meets the sender that declares what it needs.
var _ webhooks.Records = (*store.Store)(nil)

// maxHooks bounds the receivers of one arena: each has a goroutine and reads every
// event.
const maxHooks = 32

// hookName is what a hook may be called: it begins the ids of its deliveries.
var hookName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// hookSettings reads the hooks of the configuration, without their secrets.
func hookSettings(cfg configs.Config) ([]webhooks.Hook, error) {
	if n := len(cfg.Arena.Webhooks); n > maxHooks {
		return nil, misconfigured(cfg, "webhooks", "has %d hooks; at most %d are served", n, maxHooks)
	}
	var all []webhooks.Hook
	for _, name := range slices.Sorted(maps.Keys(cfg.Arena.Webhooks)) {
		h, at := cfg.Arena.Webhooks[name], "webhooks."+name
		if !hookName.MatchString(name) {
			return nil, misconfigured(cfg, at, "must be called by a-z 0-9 and -, at most 40 characters")
		}
		// An address may hold a secret of the receiver's, so it is not repeated.
		u, err := url.Parse(h.URL)
		switch {
		case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
			return nil, misconfigured(cfg, at+".url", "must be an address such as https://chat.example.org/arena")
		case u.Scheme != "https" && (u.Scheme != "http" || !h.AllowPrivate):
			return nil, misconfigured(cfg, at+".url", "must begin with https://, or with http:// where allow_private = true")
		case (h.SecretEnv == "") == (h.SecretFile == ""):
			return nil, misconfigured(cfg, at, "needs secret_env or secret_file, one of both")
		case h.SecretEnv != "" && !configs.IsVariable(h.SecretEnv):
			return nil, misconfigured(cfg, at+".secret_env", "is not the name of an environment variable; the secret itself does not belong here")
		}
		hook := webhooks.Hook{Name: name, URL: h.URL, AllowPrivate: h.AllowPrivate}
		for _, e := range h.Events {
			kind := protocol.EventKind(e)
			if !slices.Contains(protocol.EventKinds(), kind) {
				return nil, misconfigured(cfg, at+".events", "there is no event %q; use %s", e, kindWords())
			}
			hook.Kinds = append(hook.Kinds, kind)
		}
		all = append(all, hook)
	}
	return all, nil
}

func kindWords() string {
	var words []string
	for _, k := range protocol.EventKinds() {
		words = append(words, string(k))
	}
	return strings.Join(words, ", ")
}

// configuredHooks reads the hooks of the configuration with their secrets.
func configuredHooks(cfg configs.Config, o nodeOptions) ([]webhooks.Hook, error) {
	hooks, err := hookSettings(cfg)
	if err != nil {
		return nil, err
	}
	for i := range hooks {
		if hooks[i].Keys, err = hookKeys(cfg, hooks[i].Name, o); err != nil {
			return nil, err
		}
	}
	return hooks, nil
}

// openHooks makes the sender of an arena. It sends nothing yet, but whatever happens
// from now on will be sent.
func openHooks(ctx context.Context, cfg configs.Config, records webhooks.Records, changed func() <-chan struct{}, o nodeOptions) (*webhooks.Sender, error) {
	hooks, err := configuredHooks(cfg, o)
	if err != nil {
		return nil, err
	}
	s := webhooks.New(webhooks.Options{Records: records, Hooks: hooks, Now: o.Now, Log: o.Log, UserAgent: userAgent(), Changed: changed})
	return s, s.Begin(ctx)
}

// hookKeys reads what signs the requests to a hook.
func hookKeys(cfg configs.Config, name string, o nodeOptions) ([][]byte, error) {
	h, at := cfg.Arena.Webhooks[name], "webhooks."+name
	var key, secret string
	switch {
	case h.SecretFile != "":
		var err error
		key = at + ".secret_file"
		if secret, err = privateFile(h.SecretFile); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	case o.Getenv == nil:
		return nil, errors.New(at + ".secret_env names a variable, and this arena has no environment")
	default:
		key = at + ".secret_env"
		if secret = o.Getenv(h.SecretEnv); secret == "" {
			return nil, misconfigured(cfg, key, "names the environment variable %s, which is not set", h.SecretEnv)
		}
	}
	keys, err := webhooks.Keys(secret)
	if err != nil {
		return nil, misconfigured(cfg, key, "names a place whose text is no secret: it %v", err)
	}
	return keys, nil
}

// webhookCmd works on webhooks, which the configuration sets up.
type webhookCmd struct {
	List      webhookListCmd      `cmd:"" help:"List the webhooks and what was sent to them, newest first; editors only."`
	Redeliver webhookRedeliverCmd `cmd:"" help:"Have a delivery sent again under its id; editors only."`
}

type webhookListCmd struct {
	remote
	Webhook string    `placeholder:"NAME" help:"Only what was sent to this one."`
	Page    pageFlags `embed:""`
}

// Run lists a page of deliveries.
func (cmd *webhookListCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.signed()
	if err != nil {
		return err
	}
	a, err := c.ListWebhooks(ctx, cmd.Webhook, cmd.Page.page())
	return list(env, a, err)
}

type webhookRedeliverCmd struct {
	remote
	ID string `arg:"" help:"Id of the delivery."`
}

// Run asks for it.
func (cmd *webhookRedeliverCmd) Run(ctx context.Context, env *environ) error {
	c, err := env.signed()
	if err != nil {
		return err
	}
	a, err := c.Redeliver(ctx, cmd.ID)
	return show(env, a, err)
}
