package store

import (
	"context"
	"errors"

	"github.com/posttrainarena/arena/protocol"
)

const (
	collectionColumns = "id, author, agent, track, challenge, repo_type, repo_id, revision, entry_path, title, notes, team, tasks, warnings, static, created"
	// listedColumns are those in a list, where the report is the brief one.
	listedColumns = "id, author, agent, track, challenge, repo_type, repo_id, revision, entry_path, title, notes, team, tasks, warnings, " + briefStatic + ", created"
	briefStatic   = "(SELECT b.static FROM collection_briefs b WHERE b.collection = collections.id)"
)

func scanCollection(r scanner) (c protocol.Collection, err error) {
	return c, r.Scan(&c.ID, &c.Author, maybeText{&c.AgentID}, &c.Track, &c.TargetChallenge,
		&c.Source.RepoType, &c.Source.RepoID, &c.Source.Revision, &c.Source.EntryPath,
		&c.Title, &c.Notes, &c.TeamName, &c.TaskCount, asJSON{&c.Warnings}, asJSON{&c.Static}, instant{&c.CreatedAt})
}

// Collection returns a collection, or ErrNoCollection.
func (s *Store) Collection(ctx context.Context, id string) (c protocol.Collection, err error) {
	err = s.view(ctx, "read collection "+id, func(t *tx) error {
		c, err = t.collection(ctx, id)
		return err
	})
	return c, err
}

// Collections lists the collections that a filter selects, newest first, with
// their reports in brief.
func (s *Store) Collections(ctx context.Context, want protocol.CollectionFilter, page protocol.Page) (rows []protocol.Collection, next string, err error) {
	f := collectionFilter(want)
	err = s.view(ctx, "list collections", func(t *tx) error {
		rows, next, err = list(ctx, t, page, listQuery[protocol.Collection]{
			name: "collections", columns: listedColumns, from: "collections", at: "created", id: "id", where: f, scan: scanCollection,
			key: func(c protocol.Collection) (int64, string) { return micros(c.CreatedAt), c.ID },
		})
		return err
	})
	return rows, next, err
}

// CountCollections returns how many collections a filter selects.
func (s *Store) CountCollections(ctx context.Context, want protocol.CollectionFilter) (n int, err error) {
	f := collectionFilter(want)
	err = s.view(ctx, "count collections", func(t *tx) error {
		return t.QueryRowContext(ctx, "SELECT count(*) FROM collections"+f.where(), f.args...).Scan(&n)
	})
	return n, err
}

func collectionFilter(want protocol.CollectionFilter) (f filter) {
	f.equal("challenge", want.Challenge)
	f.equal("track", want.Track)
	f.equal("author", want.Author)
	return f
}

// Submit registers a collection under the id of its natural key. When that is
// registered already it returns the existing record, with its first title,
// notes and agent, and true.
func (s *Store) Submit(ctx context.Context, by protocol.Actor, c protocol.Collection) (out protocol.Collection, existing bool, err error) {
	c.ID = protocol.NewCollectionID(c.Author, c.Track, c.Source)
	c.Warnings = present(c.Warnings)
	full := s.room()
	err = s.update(ctx, "submit collection "+c.ID, func(t *tx) error {
		out, err = t.collection(ctx, c.ID)
		if existing = err == nil; existing || !errors.Is(err, protocol.ErrNoCollection) {
			return err
		}
		if full != nil {
			return full
		}
		if err := t.actsAs(ctx, protocol.Identity{Name: c.Author}, c.AgentID); err != nil {
			return err
		}
		c.CreatedAt = t.now
		out = c
		return t.insertCollection(ctx, by, c)
	})
	return out, existing, err
}

func (t *tx) insertCollection(ctx context.Context, by protocol.Actor, c protocol.Collection) error {
	_, err := t.ExecContext(ctx, "INSERT INTO collections ("+collectionColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		c.ID, c.Author, textOrNull(c.AgentID), c.Track, c.TargetChallenge,
		c.Source.RepoType, c.Source.RepoID, c.Source.Revision, c.Source.EntryPath,
		c.Title, c.Notes, c.TeamName, c.TaskCount, asJSON{c.Warnings}, asJSON{c.Static}, micros(c.CreatedAt))
	if err != nil {
		return err
	}
	brief := c
	brief.Static = c.Static.Brief() // the whole report is in the record itself
	if _, err := t.ExecContext(ctx, "INSERT INTO collection_briefs (collection, static) VALUES (?, ?)", c.ID, asJSON{brief.Static}); err != nil {
		return err
	}
	if err := t.audit(ctx, change{by: by, action: "submit", object: "environment:" + c.ID, after: brief}); err != nil {
		return err
	}
	return t.emit(ctx, protocol.Event{Kind: protocol.EventCollection, Challenge: c.TargetChallenge, Collection: c.ID})
}

func (t *tx) collection(ctx context.Context, id string) (protocol.Collection, error) {
	return t.collectionWith(ctx, collectionColumns, id)
}

// listedCollection has the brief report, whose numbers are the whole one's: to read
// that takes longer than all else in a launch.
func (t *tx) listedCollection(ctx context.Context, id string) (protocol.Collection, error) {
	return t.collectionWith(ctx, listedColumns, id)
}

func (t *tx) collectionWith(ctx context.Context, columns, id string) (protocol.Collection, error) {
	return one(t.QueryRowContext(ctx, "SELECT "+columns+" FROM collections WHERE id = ?", id), scanCollection,
		protocol.ErrNoCollection.Detailf("There is no environment %q. GET /api/environments lists them.", id))
}
