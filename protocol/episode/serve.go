package episode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Home is where a task's image keeps the server, the instance file and the hidden
// tests.
const Home = "/opt/arena"

// Serve opens the sandbox in dir (Home) and serves it on l until ctx ends. It
// answers at once; a reset waits until the world is prepared.
func Serve(ctx context.Context, l net.Listener, dir string, env []string, log *slog.Logger) error {
	w, err := OpenSandbox(ctx, dir, env, log)
	if err != nil {
		l.Close()
		return err
	}
	s := NewServer(w, log)
	go func() {
		if err := w.Prepared(ctx); err != nil && ctx.Err() == nil {
			log.Error("the world cannot be played in", "err", err)
			s.Fail(err)
		}
	}()
	h := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = h.Close() })
	defer stop()
	task, _ := w.Task()
	log.Info("serving", "task", task, "address", l.Addr().String())
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the episode: %w", err)
	}
	return nil
}
