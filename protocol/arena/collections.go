package arena

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
)

// Submission names a collection to validate or register.
type Submission struct {
	Challenge string // an open challenge or a track
	AgentID   string
	Source    protocol.Source
	Title     string
	Notes     string
	Upload    *hub.Snapshot // the uploaded files of a bundle; nil when they are read from the source
	RequestID string        // X-Request-Id, for the audit trail
}

// Validation is what reading a collection and running the gates on it gave.
// Collection is the record that submitting it would register.
type Validation struct {
	Collection protocol.Collection
	Report     report.Report // with the findings' bodies
	Errors     []string      // why it is not valid, in sentences; empty when it is
	Problems   []protocol.FieldError
	snapshot   *hub.Snapshot
}

// Valid reports whether the structure is sound and no blocking gate fired.
func (v Validation) Valid() bool { return len(v.Errors) == 0 }

// maxWarnings bounds the sentences that a record keeps.
const maxWarnings = 30

// Validate reads a collection at its commit and runs the static gates on it. It
// stores nothing. A collection that can be read but is not valid is an answer,
// not an error.
func (s *Service) Validate(ctx context.Context, who protocol.Identity, sub Submission) (Validation, error) {
	v, err := s.examine(ctx, who, sub)
	if err != nil {
		return v, err
	}
	if sub.Upload == nil {
		defer func() { _ = v.snapshot.Release() }()
	}
	return v, nil
}

// examine validates without releasing the snapshot, which Submit still needs.
func (s *Service) examine(ctx context.Context, who protocol.Identity, sub Submission) (Validation, error) {
	if !who.SignedIn() {
		return Validation{}, protocol.ErrSignedOut
	}
	if bad := append(protocol.CheckSource(sub.Source), protocol.CheckTexts(sub.Title, sub.Notes)...); len(bad) > 0 {
		return Validation{}, protocol.ErrInvalid.Detailf("The request cannot be read: %s %s.", bad[0].Field, bad[0].Message).WithFields(bad...)
	}
	track, target, err := s.resolveTarget(sub.Challenge)
	if err != nil {
		return Validation{}, err
	}
	if err := s.checkAgent(ctx, who, sub.AgentID); err != nil {
		return Validation{}, err
	}
	if err := s.validations.take(who.Name, s.now()); err != nil {
		return Validation{}, err
	}
	snapshot, err := s.open(ctx, sub)
	if err != nil {
		return Validation{}, err
	}
	var v Validation
	select { // gates compute, and must leave a processor to everybody who only reads
	case s.judging <- struct{}{}:
		v, err = s.judge(snapshot, sub.Source.EntryPath)
		<-s.judging
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return v, errors.Join(err, snapshot.Release())
	}
	source := sub.Source
	source.Revision = snapshot.Commit
	if err := s.recordOverlap(ctx, protocol.Actor{Name: who.Name, RequestID: sub.RequestID}, source, v.Report); err != nil {
		return v, errors.Join(err, snapshot.Release())
	}
	v.Collection.Source = source
	v.Collection.ID = protocol.NewCollectionID(who.Name, track, source)
	v.Collection.Author, v.Collection.AgentID = who.Name, sub.AgentID
	v.Collection.Track, v.Collection.TargetChallenge = track, target
	v.Collection.Title, v.Collection.Notes = sub.Title, sub.Notes
	if v.Collection.Title == "" {
		v.Collection.Title = v.Collection.TeamName
	}
	v.snapshot = snapshot
	return v, nil
}

// recordOverlap leaves a trace of an answer that tells its reader something about
// the sealed suites.
func (s *Service) recordOverlap(ctx context.Context, by protocol.Actor, source protocol.Source, r report.Report) error {
	found := map[string]int{}
	for code, n := range r.Summary.ByCode {
		if strings.HasPrefix(code, "sealed-") {
			found[code] = n
		}
	}
	if len(found) == 0 {
		return nil
	}
	return s.Store.OverlapSeen(ctx, by, source, found)
}

// judge reads the packages of a snapshot and runs the gates on them.
func (s *Service) judge(snapshot *hub.Snapshot, entryPath string) (Validation, error) {
	tree, err := Listing(snapshot.Files, snapshot.Entries, s.Limits)
	if err != nil {
		return Validation{}, err
	}
	col, problems := task.ReadCollection(tree, entryPath, s.Limits)
	opts := s.Gates
	opts.Defaults = col.Submission.Defaults
	started := s.now()
	rep := gates.Against(col.Packages, s.sealedIndex, opts)
	if s.Judged != nil {
		s.Judged(s.now().Sub(started))
	}
	errs, warnings := gates.Messages(rep, problems)
	v := Validation{Report: rep, Errors: errs}
	v.Collection = protocol.Collection{
		TeamName: col.Submission.TeamName, TaskCount: len(col.Packages), Static: rep.Compact(),
		Warnings: slices.Clip(warnings[:min(len(warnings), maxWarnings)]),
	}
	for _, p := range problems {
		if p.Severity == report.Error {
			v.Problems = append(v.Problems, protocol.FieldError{Field: problemField(p), Message: p.Message + "; " + p.Fix})
		}
	}
	return v, nil
}

// problemField is where in the collection a structural problem is.
func problemField(p task.Problem) string {
	field := p.Path
	if p.Task != "" {
		field = "envs/" + p.Task + "/" + p.Path
	}
	if p.Field != "" {
		field += "#" + p.Field
	}
	return field
}

// Listing makes a tree of what a source lists, or says why no collection may be listed
// so. Sources ask with nil for the files, before they fetch any.
func Listing(files fs.FS, entries []protocol.TreeFile, limits task.Limits) (task.Tree, error) {
	tree, err := task.NewTree(files, taskEntries(entries), limits)
	if te, ok := errors.AsType[*task.TreeError](err); ok {
		return tree, protocol.ErrInvalidSource.Detailf("The collection's files are refused: %s.", te)
	}
	return tree, err
}

func taskEntries(files []protocol.TreeFile) []task.Entry {
	out := make([]task.Entry, 0, len(files))
	for _, f := range files {
		e := task.Entry{Path: f.Path, Size: f.Size, Blob: f.Blob, Executable: f.Kind == protocol.FileExecutable}
		switch f.Kind {
		case protocol.FileSymlink:
			e.Kind = task.Symlink
		case protocol.FileSubmodule:
			e.Kind = task.Submodule
		case protocol.FileRegular, protocol.FileExecutable:
			e.Kind = task.File
		}
		out = append(out, e)
	}
	return out
}

// resolveTarget finds the track that a submission is stored on, and the
// challenge that it is meant for when one was named.
func (s *Service) resolveTarget(name string) (track, challenge string, err error) {
	if c, ok := s.byChallenge[name]; ok {
		if c.Status != protocol.StatusOpen {
			return "", "", protocol.ErrClosed.Detailf("The challenge %s is %s and takes no collections. Submit to an open challenge or to the track %s.", c.ID, c.Status, c.Track)
		}
		return c.Track, c.ID, nil
	}
	if slices.Contains(s.trackIDs(), name) {
		return name, "", nil
	}
	return "", "", protocol.ErrInvalid.Detailf("challenge_id %q is neither a challenge nor a track. GET /api/challenges and /api/v2/challenges list them.", name).
		WithFields(protocol.FieldError{Field: "challenge_id", Message: "is neither a challenge nor a track"})
}

// open gets the files of a submission: the upload, a bundle stored before, or
// a snapshot from the code host.
func (s *Service) open(ctx context.Context, sub Submission) (*hub.Snapshot, error) {
	if sub.Source.RepoType == protocol.RepoBundle {
		if sub.Upload != nil {
			if want := sub.Source.Revision; want != "" && want != sub.Upload.Commit {
				return nil, protocol.ErrInvalidSource.Detailf("The uploaded directory is not what the request pins: it hashes to %s, the request says %s. Restore the files, or leave revision out to submit them as they are.", sub.Upload.Commit, want)
			}
			return sub.Upload, nil
		}
		return s.storedBundle(ctx, sub.Source.Revision)
	}
	host, ok := s.Hosts[sub.Source.RepoType]
	if !ok {
		return nil, protocol.ErrInvalidSource.Detailf("This arena is not connected to repositories of type %s. Upload the directory instead: repo_type bundle, or --dir on the command line.", sub.Source.RepoType)
	}
	return s.openings.open(ctx, host, sub.Source)
}

func (s *Service) storedBundle(ctx context.Context, treeID string) (*hub.Snapshot, error) {
	if treeID == "" {
		return nil, protocol.ErrInvalidSource.Detailf("A bundle needs its files: upload the directory, or name the git tree id of one that was submitted before.")
	}
	files, entries, err := s.Bundle(ctx, treeID)
	if err != nil {
		return nil, err
	}
	return &hub.Snapshot{Commit: treeID, Files: files, Entries: entries}, nil
}

// Submit validates a collection and registers it at its commit. The boolean
// says that the same collection was registered before: the existing record is
// returned with its first title, notes and agent.
func (s *Service) Submit(ctx context.Context, who protocol.Identity, by protocol.Actor, sub Submission) (protocol.Collection, bool, error) {
	v, err := s.examine(ctx, who, sub)
	if err != nil {
		return protocol.Collection{}, false, err
	}
	if sub.Upload == nil {
		defer func() { _ = v.snapshot.Release() }()
	}
	if !v.Valid() {
		return protocol.Collection{}, false, notValid(v)
	}
	if sub.Upload != nil {
		if err := s.Store.SaveBundle(ctx, v.snapshot.Commit, v.snapshot.Entries, opener(v.snapshot.Files)); err != nil {
			return protocol.Collection{}, false, err
		}
	}
	col, existing, err := s.Store.Submit(ctx, by, v.Collection)
	if err == nil && !existing {
		s.events.wake()
		s.Logger.Info("collection registered", "collection", col.ID, "author", col.Author, "tasks", col.TaskCount, "eligible", col.Static.Summary.Eligible)
	}
	return col, existing, err
}

// opener opens a listed file; what stands behind a link or a submodule is its
// listing alone.
func opener(files fs.FS) func(string) (io.ReadCloser, error) {
	return func(name string) (io.ReadCloser, error) { return files.Open(name) }
}

// notValid turns the findings of a validation into the refusal of a submission.
func notValid(v Validation) error {
	fields := v.Problems
	for _, e := range v.Errors {
		if len(fields) >= maxWarnings {
			break
		}
		if !slices.ContainsFunc(fields, func(f protocol.FieldError) bool { return f.Message == e }) {
			fields = append(fields, protocol.FieldError{Field: "collection", Message: e})
		}
	}
	return protocol.ErrNotValid.Detailf("The collection does not pass validation: %s (%d problem(s) in all; run validate to see each with its fix).", v.Errors[0], len(v.Errors)).WithFields(fields...)
}

// Verdicts returns a collection and the verdicts that were attached to it on a
// challenge, the newest first; none when none was.
func (s *Service) Verdicts(ctx context.Context, challenge, collection string) (protocol.Collection, []protocol.Verdict, error) {
	_, col, err := s.gatesOf(ctx, challenge, collection)
	if err != nil {
		return col, nil, err
	}
	all, err := s.VerdictHistory(ctx, collection, challenge)
	return col, all, err
}
