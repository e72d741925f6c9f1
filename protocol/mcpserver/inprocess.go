package mcpserver

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// inProcess is a transport that calls a handler instead of a network.
type inProcess struct {
	handler http.Handler
	address string // of whoever the calls are for
}

// RoundTrip answers a request with what the handler writes.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), t.address
	r.Host = r.URL.Host
	w := &kept{header: http.Header{}}
	t.handler.ServeHTTP(w, r)
	status := w.status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// kept is a response that is kept in memory.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header { return k.header }

func (k *kept) WriteHeader(status int) {
	if k.status == 0 {
		k.status = status
	}
}

func (k *kept) Write(b []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	return k.body.Write(b)
}
