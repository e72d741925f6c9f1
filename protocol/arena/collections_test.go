package arena_test

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/posttrainarena/arena/fixture"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/arena"
	"github.com/posttrainarena/arena/protocol/hub"
	"github.com/posttrainarena/arena/protocol/hub/bundle"
)

// upload is a bundle of the sample collection with changed files; nil removes one.
func upload(t *testing.T, change map[string][]byte) *hub.Snapshot {
	t.Helper()
	files := fstest.MapFS{}
	sample := must(fixture.Collection("sample"))(t)
	must0(t, fs.WalkDir(sample, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(sample, name)
		files[name] = &fstest.MapFile{Data: data}
		return err
	}))
	for name, data := range change {
		if files[name] = (&fstest.MapFile{Data: data}); data == nil {
			delete(files, name)
		}
	}
	return must(bundle.Snapshot(files, task.DefaultLimits()))(t)
}

// bundled is a submission of an uploaded directory to the open challenge.
func bundled(s *hub.Snapshot) arena.Submission {
	return arena.Submission{Challenge: challenge, Source: protocol.Source{RepoType: protocol.RepoBundle, RepoID: "sample"}, Upload: s}
}

// TestSubmitIsIdempotent submits one directory twice: the record keeps its first
// title, and the files can be named by their tree id from then on.
func TestSubmitIsIdempotent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sub := bundled(upload(t, nil))
	sub.Title, sub.Notes = "First title", "First notes"
	first, existing, err := w.Submit(t.Context(), ada, by(ada), sub)
	if err != nil || existing || first.Title != "First title" || first.TargetChallenge != challenge || first.Track != "terminal" {
		t.Fatalf("submit: %+v, existing %v, %v", first, existing, err)
	}
	sub.Title = "Second title"
	again, existing, err := w.Submit(t.Context(), ada, by(ada), sub)
	if err != nil || !existing || again.ID != first.ID || again.Title != "First title" {
		t.Errorf("submit again: %+v, existing %v, %v", again, existing, err)
	}
	// Without an upload the pinned files are read from where they were stored.
	sub.Upload, sub.Source.Revision = nil, first.Source.Revision
	again, existing, err = w.Submit(t.Context(), ada, by(ada), sub)
	if err != nil || !existing || again.ID != first.ID {
		t.Errorf("submit by tree id: %+v, existing %v, %v", again, existing, err)
	}
	// Somebody else's submission of the same files is another collection.
	other, existing, err := w.Submit(t.Context(), eve, by(eve), sub)
	if err != nil || existing || other.ID == first.ID {
		t.Errorf("eve's: %+v, existing %v, %v", other, existing, err)
	}
}

// TestValidateStoresNothing answers what submitting would register.
func TestValidateStoresNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v, err := w.Validate(t.Context(), ada, bundled(upload(t, nil)))
	if err != nil || !v.Valid() || v.Collection.TaskCount != 8 || v.Report.Summary.Eligible == 0 {
		t.Fatalf("validate: %+v, %v", v, err)
	}
	if n := must(w.CountCollections(t.Context(), protocol.CollectionFilter{}))(t); n != 0 {
		t.Errorf("%d collections are registered", n)
	}
	if _, _, err := w.Bundle(t.Context(), v.Collection.Source.Revision); err == nil {
		t.Error("the bundle is stored")
	}
	col := w.submit(ada, "sample")
	if col.ID != v.Collection.ID {
		t.Errorf("validate announced %s, submit registered %s", v.Collection.ID, col.ID)
	}
}

// TestRefusedSubmissions has a row for each way in which a submission cannot be
// registered. Nothing of it is kept.
func TestRefusedSubmissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sealedTask := sealed(t, w.Configs)["tb2-sealed-32"].Tasks[0]
	for name, c := range map[string]struct {
		change func(*arena.Submission)
		files  map[string][]byte
		want   error
		says   string
	}{
		"no such target":    {change: func(s *arena.Submission) { s.Challenge = "tb3-70b" }, want: protocol.ErrInvalid, says: "neither a challenge nor a track"},
		"planned challenge": {change: func(s *arena.Submission) { s.Challenge = "terminal-35b" }, want: protocol.ErrClosed, says: "is planned"},
		"unknown agent":     {change: func(s *arena.Submission) { s.AgentID = "nobodys-agent" }, want: protocol.ErrInvalid, says: "not registered"},
		"entry path":        {change: func(s *arena.Submission) { s.Source.EntryPath = "../elsewhere" }, want: protocol.ErrInvalid, says: "relative directory"},
		"long title":        {change: func(s *arena.Submission) { s.Title = strings.Repeat("x", protocol.MaxTitle+1) }, want: protocol.ErrInvalid, says: "201 characters"},
		"another tree":      {change: func(s *arena.Submission) { s.Source.Revision = strings.Repeat("a", 40) }, want: protocol.ErrInvalidSource, says: "is not what the request pins"},
		"no files":          {change: func(s *arena.Submission) { s.Upload = nil }, want: protocol.ErrInvalidSource, says: "needs its files"},
		"unknown tree":      {change: func(s *arena.Submission) { s.Upload, s.Source.Revision = nil, strings.Repeat("a", 40) }, want: protocol.ErrInvalidSource, says: "aaaa"},
		"no code host": {change: func(s *arena.Submission) {
			s.Source = protocol.Source{RepoType: protocol.RepoGitHub, RepoID: "ada/tasks", Revision: "main"}
		}, want: protocol.ErrInvalidSource, says: "Upload the directory instead"},
		"no submission.yaml": {files: map[string][]byte{"submission.yaml": nil}, want: protocol.ErrNotValid, says: "submission.yaml"},
		"sealed name": {
			files: map[string][]byte{"envs/" + sealedTask.Name + "/task.md": []byte("---\nauthor_name: Ada\n---\nSort the ledger.\n")},
			want:  protocol.ErrNotValid, says: "problem(s) in all",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sub := bundled(upload(t, c.files))
			if c.change != nil {
				c.change(&sub)
			}
			_, _, err := w.Submit(t.Context(), ada, by(ada), sub)
			if e := wantError(t, err, c.want); !strings.Contains(e.Detail, c.says) {
				t.Errorf("it says %q, want %q", e.Detail, c.says)
			}
		})
	}
	if n := must(w.CountCollections(t.Context(), protocol.CollectionFilter{}))(t); n != 0 {
		t.Errorf("%d collections are registered", n)
	}
	if n := must(w.LastEvent(t.Context()))(t); n != 0 {
		t.Errorf("%d events were written", n)
	}
}

// TestQuotaRefills validates until the hour's share is used up. It comes back
// steadily, each account has its own, and the refusal says when.
func TestQuotaRefills(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *options) { o.service.PerHour = arena.PerHour{Validations: 2, Messages: 1} })
		sub := bundled(upload(t, nil))
		validate := func(who protocol.Identity) error {
			_, err := w.Validate(t.Context(), who, sub)
			return err
		}
		must0(t, validate(ada))
		must0(t, validate(ada))
		e := wantError(t, validate(ada), protocol.ErrRateLimited)
		if e.RetryAfter <= 0 || e.RetryAfter > 30*time.Minute {
			t.Errorf("the next is free in %s", e.RetryAfter)
		}
		// The limits say the same before anybody runs into them, and a token that is
		// promised at a moment is there at that moment.
		l := w.HourLimits(ada).Validations
		if l.Used != 2 || l.Limit != 2 || l.Remaining != 0 || l.ResetsAt == nil || l.ResetsAt.Before(time.Now().Add(e.RetryAfter)) || l.ResetsAt.After(time.Now().Add(e.RetryAfter+time.Second)) {
			t.Errorf("the limits say %+v, resets %v; the refusal %s from %s", l, l.ResetsAt, e.RetryAfter, time.Now())
		}
		if fresh := w.HourLimits(eve); fresh.Validations.Used != 0 || fresh.Validations.Remaining != 2 || fresh.Validations.ResetsAt != nil || fresh.Messages.Remaining != 1 {
			t.Errorf("an account that did nothing: %+v, %+v", fresh.Validations, fresh.Messages)
		}
		if none := w.HourLimits(protocol.Identity{}); none.Validations != nil {
			t.Errorf("nobody has %+v", none)
		}
		must0(t, validate(eve))
		time.Sleep(e.RetryAfter)
		must0(t, validate(ada))

		post := func(id, body string) (bool, error) {
			_, existing, err := w.PostMessage(t.Context(), ada, by(ada), protocol.Message{RequestID: id, Body: body})
			return existing, err
		}
		if _, err := post("message-1", "Hello."); err != nil {
			t.Fatal(err)
		}
		_, err := post("message-2", "Hello again.")
		wantError(t, err, protocol.ErrRateLimited)
		time.Sleep(time.Hour)
		existing, err := post("message-1", "Hello.")
		if err != nil || !existing {
			t.Errorf("the same message: existing %v, %v", existing, err)
		}
		_, err = post("message-1", "Hello, but different.")
		if err == nil {
			t.Error("another body under one request id is taken")
		}
	})
}

// BenchmarkValidate validates uploads of the sample collection, as the server does
// once a stream has arrived.
func BenchmarkValidate(b *testing.B) {
	w := newWorld(b, func(o *options) { o.service.PerHour = arena.PerHour{} })
	var stream bytes.Buffer
	archive := tar.NewWriter(&stream)
	must0(b, archive.AddFS(must(fixture.Collection("sample"))(b)))
	must0(b, archive.Close())
	r := bundle.Receiver{Dir: b.TempDir(), Limits: task.DefaultLimits()}
	b.ReportAllocs()
	for b.Loop() {
		s := must(r.Receive(b.Context(), bytes.NewReader(stream.Bytes())))(b)
		if v, err := w.Validate(b.Context(), ada, bundled(s)); err != nil || !v.Valid() {
			b.Fatalf("%+v, %v", v, err)
		}
		must0(b, s.Release())
	}
}
