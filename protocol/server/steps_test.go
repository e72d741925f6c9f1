package server_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"testing"
	"time"

	"github.com/posttrainarena/arena/fixture"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// The steps of the loop, as a client takes them.

// part is one part of an upload.
type part struct {
	name string
	body []byte
}

// form packs parts into a multipart body and returns it with its content type.
func form(t testing.TB, parts ...part) (string, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename="x"`, p.name)}}
		_ = must(must(w.CreatePart(h))(t).Write(p.body))(t)
	}
	must0(t, w.Close())
	return b.String(), w.FormDataContentType()
}

// tarball packs files into a tar stream, in order of their names.
func tarball(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		must0(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(files[name])), Mode: 0o644}))
		_ = must(w.Write([]byte(files[name])))(t)
	}
	must0(t, w.Close())
	return b.Bytes()
}

// sample is a collection of one or all tasks of the built-in one.
func sample(t testing.TB, dirs ...string) map[string]string {
	t.Helper()
	from := must(fixture.Collection("sample"))(t)
	files := map[string]string{"submission.yaml": string(must(fs.ReadFile(from, "submission.yaml"))(t))}
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	for _, dir := range dirs {
		must0(t, fs.WalkDir(from, dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files[name] = string(must(fs.ReadFile(from, name))(t))
			}
			return err
		}))
	}
	return files
}

// oneTask is the smallest collection that can run.
func oneTask(t testing.TB) map[string]string { return sample(t, "envs/contact-merge") }

// bundled is the request that goes with an upload.
func bundled(name string) api.EnvironmentRequest {
	return api.EnvironmentRequest{ChallengeID: challenge, RepoType: protocol.RepoBundle, RepoID: name}
}

// upload posts a request with a bundle.
func (s *site) upload(path, who string, req api.EnvironmentRequest, files map[string]string) answer {
	s.t.Helper()
	body, kind := form(s.t, part{"request", must(json.Marshal(req))(s.t)}, part{"bundle", tarball(s.t, files)})
	return s.do("POST", path, who, body, "Content-Type", kind)
}

// submit registers a collection of one task under a name.
func (s *site) submit(who, name string) api.Environment {
	s.t.Helper()
	a := s.upload("/api/environments", who, bundled(name), oneTask(s.t))
	if a.StatusCode != http.StatusCreated {
		s.t.Fatalf("submit %s: %s: %s", name, a.Status, a.body)
	}
	return decode[api.Environment](s.t, a)
}

const runsPath = "/api/challenges/" + challenge + "/runs"

// launch asks for a run.
func (s *site) launch(who, requestID, environment string) answer {
	s.t.Helper()
	return s.do("POST", runsPath, who, api.LaunchRequest{RequestID: requestID, EnvironmentID: environment})
}

// started launches a run that must start.
func (s *site) started(who, requestID, environment string) api.Run {
	s.t.Helper()
	a := s.launch(who, requestID, environment)
	if a.StatusCode != http.StatusCreated {
		s.t.Fatalf("launch: %s: %s", a.Status, a.body)
	}
	return decode[api.Run](s.t, a)
}

// run reads a run.
func (s *site) run(who, id string) api.Run {
	s.t.Helper()
	return decode[api.Run](s.t, s.want(200, "GET", runsPath+"/"+id, who, nil))
}

// ended waits until a run has ended.
func (s *site) ended(id string) api.Run {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		changed := s.service.EventsChanged()
		run := s.run(nobody, id)
		if run.State.Ended() {
			return run
		}
		select {
		case <-changed:
		case <-time.After(time.Until(deadline)):
			s.t.Fatalf("the run does not end: %+v", run)
		}
	}
}

// scored plays ada's sample collection from upload to a scored run.
func (s *site) scored() (api.Environment, api.Run) {
	s.t.Helper()
	env := s.submit(author, "sample")
	run := s.ended(s.started(author, "request-001", env.ID).RunID)
	if run.State != protocol.RunScored {
		s.t.Fatalf("the run ended %s: %v", run.State, *run.Reason)
	}
	return env, run
}

// goodReview is a decision with enough substance.
func goodReview() api.ReviewRequest {
	return api.ReviewRequest{Accepted: true, Note: "The outcomes cover the suite and agree with the report."}
}
