package server

import (
	"bytes"
	"io"
	"net/http"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// Beside answers one more address with a handler that is not of this package. What
// holds for every other answer holds there too: its request id and headers, no
// token in the URL, a line in the log and in the metrics, and no patience without
// end with a client that sends or reads slowly. Bodies have at most limit bytes.
func (s *Server) Beside(path string, limit int64, other http.Handler) http.Handler {
	route := api.Route{Name: "beside", Path: path, Role: protocol.RolePublic, OwnKeys: true, Content: api.ContentJSON}
	guarded := s.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, route, nil, func(c *call) error {
			raw, err := c.whole(limit)
			if err != nil {
				return err
			}
			r.Body = io.NopCloser(bytes.NewReader(raw))
			other.ServeHTTP(&boundWriter{c.w, c}, r)
			return nil
		})
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			guarded.ServeHTTP(w, r)
			return
		}
		s.ServeHTTP(w, r)
	})
}

// boundWriter limits how long a client may take to read an answer.
type boundWriter struct {
	http.ResponseWriter
	call *call
}

// WriteHeader begins the answer.
func (b *boundWriter) WriteHeader(status int) {
	b.call.bound()
	b.ResponseWriter.WriteHeader(status)
}

// Write goes on with it.
func (b *boundWriter) Write(raw []byte) (int, error) {
	b.call.bound()
	return b.ResponseWriter.Write(raw)
}
