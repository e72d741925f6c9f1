package server

import (
	"net/http"
	"strings"

	"github.com/julienschmidt/httprouter"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// relayed registers what jobs and their sandboxes use. It is not part of the API:
// callers show secrets of a run instead of tokens, and answers have the form that
// clients of models read.
func (s *Server) relayed(router *httprouter.Router) {
	if s.Relay == nil {
		return
	}
	add := func(method, name, path string, answer func(http.ResponseWriter, *http.Request, string)) {
		router.Handle(method, path, func(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
			s.serve(w, r, api.Route{Name: name, Method: method, Path: path, Role: protocol.RolePublic, OwnKeys: true}, ps, func(c *call) error {
				answer(c.w, r, ps.ByName("run"))
				return nil
			})
		})
	}
	add(http.MethodGet, "relayConnect", "/relay/:run/connect", s.Relay.Connect)
	add(http.MethodGet, "relayHealth", "/relay/:run/health", s.Relay.Health)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
		add(method, "relay", "/relay/:run/v1/*path", func(w http.ResponseWriter, r *http.Request, run string) {
			// What is asked may come escaped, and has to arrive as it came.
			_, rest, _ := strings.Cut(r.URL.EscapedPath(), "/v1/")
			s.Relay.Forward(w, r, run, "/v1/"+rest)
		})
	}
}
