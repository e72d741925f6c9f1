package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/posttrainarena/arena/protocol"
)

const (
	// logChunkSize is how much text a chunk takes before the next one starts.
	logChunkSize = 64 << 10
	// maxLine is the longest line that is stored; longer ones are cut there.
	maxLine = 1 << 20
	// maxLogLines is the most lines that one read returns.
	maxLogLines = 5000
)

// LogCursor returns where the arena stands in the log of a run's job; it is
// zero before the first batch.
func (s *Store) LogCursor(ctx context.Context, run string) (c protocol.LogCursor, err error) {
	err = s.view(ctx, "read the log position of run "+run, func(t *tx) error {
		if _, err := t.run(ctx, run); err != nil {
			return err
		}
		c, err = t.logCursor(ctx, run)
		return err
	})
	return c, err
}

func (t *tx) logCursor(ctx context.Context, run string) (c protocol.LogCursor, err error) {
	err = t.QueryRowContext(ctx, "SELECT position, fold FROM log_cursors WHERE run = ?", run).Scan(&c.Position, &c.Fold)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return c, err
}

// AppendLog adds lines to a run's log, together with what the fold made of
// them, and returns the run as it is then. The first lines make a queued run
// running. A batch whose position is not past the stored one was stored before:
// only the job's status is taken from it.
func (s *Store) AppendLog(ctx context.Context, run string, b protocol.LogBatch) (out protocol.Run, err error) {
	err = s.update(ctx, "append to the log of run "+run, func(t *tx) error {
		before, err := t.run(ctx, run)
		if err != nil {
			return err
		}
		at, err := t.logCursor(ctx, run)
		if err != nil {
			return err
		}
		out = before
		if b.Status != "" && out.JobID != "" {
			out.JobStatus = b.Status
		}
		fresh := b.Position > at.Position
		if !fresh && out.JobStatus == before.JobStatus {
			return nil
		}
		if _, err := before.State.Next(protocol.MoveRunning); err != nil {
			return err
		}
		if fresh {
			if err := s.storeBatch(ctx, t, &out, b); err != nil {
				return err
			}
		}
		if err := t.writeRun(ctx, out); err != nil {
			return err
		}
		return t.tellLog(ctx, before, out)
	})
	if err != nil {
		return protocol.Run{}, err
	}
	return out, nil
}

// storeBatch applies a batch to a run: its lines, its fold and what that says.
func (s *Store) storeBatch(ctx context.Context, t *tx, r *protocol.Run, b protocol.LogBatch) error {
	if len(b.Lines) > 0 {
		if err := move(r, protocol.MoveRunning, t.now); err != nil {
			return err
		}
		if err := s.appendLines(ctx, t, r.ID, r.LogLines, b.Lines); err != nil {
			return err
		}
		r.LogLines += int64(len(b.Lines))
	}
	r.Progress = b.Progress
	if b.Stage != "" {
		r.Stage = b.Stage
	}
	_, err := t.ExecContext(ctx, "INSERT INTO log_cursors (run, position, fold) VALUES (?, ?, ?) ON CONFLICT (run) DO UPDATE SET position = excluded.position, fold = excluded.fold",
		r.ID, b.Position, b.Fold)
	return err
}

// tellLog writes the audit row and the events of a batch that took the run to
// another state or stage, or whose job has another status. Lines alone are not
// a change of the run: whoever follows a log reads it by line number.
func (t *tx) tellLog(ctx context.Context, before, after protocol.Run) error {
	action := "job-running"
	switch {
	case after.State != before.State:
	case after.JobStatus != before.JobStatus:
		action = "job-status"
	case after.Stage != before.Stage:
		action = actionStage
	default:
		return nil
	}
	return t.tellRun(ctx, protocol.Actor{Name: protocol.ActorArena}, action, before, after)
}

// appendLines adds lines after the first have of a log. The last chunk is
// rewritten until it is full, then the next starts.
func (s *Store) appendLines(ctx context.Context, t *tx, run string, have int64, lines []protocol.LogLine) error {
	c, err := s.lastChunk(ctx, t, run)
	if err != nil {
		return err
	}
	if c.firstLine+c.lines != have+1 {
		return fmt.Errorf("the log of run %s ends at line %d although the run counts %d; restore a backup", run, c.firstLine+c.lines-1, have)
	}
	for _, line := range lines {
		if len(line.Text) > maxLine {
			line.Text = line.Text[:maxLine]
		}
		if len(c.raw) >= logChunkSize {
			if err := s.saveChunk(ctx, t, run, c); err != nil {
				return err
			}
			c = c.next()
		}
		c.add(line)
	}
	return s.saveChunk(ctx, t, run, c)
}

// chunkColumns are the columns of a log chunk.
const chunkColumns = "first_line, first_byte, lines, bytes, body"

func (s *Store) scanChunk(r scanner) (c logChunk, err error) {
	var body []byte
	if err := r.Scan(&c.firstLine, &c.firstByte, &c.lines, &c.bytes, &body); err != nil {
		return c, err
	}
	if c.raw, err = s.unpack.DecodeAll(body, nil); err != nil {
		return c, fmt.Errorf("unpack the log chunk at line %d: %w", c.firstLine, err)
	}
	return c, nil
}

// lastChunk reads the chunk that a log ends with; of an empty log it is an empty
// one at line 1.
func (s *Store) lastChunk(ctx context.Context, t *tx, run string) (logChunk, error) {
	c, err := s.scanChunk(t.QueryRowContext(ctx, "SELECT "+chunkColumns+" FROM log_chunks WHERE run = ? ORDER BY first_line DESC LIMIT 1", run))
	if errors.Is(err, sql.ErrNoRows) {
		return logChunk{firstLine: 1}, nil
	}
	return c, err
}

func (s *Store) saveChunk(ctx context.Context, t *tx, run string, c logChunk) error {
	_, err := t.ExecContext(ctx, "INSERT INTO log_chunks (run, "+chunkColumns+`) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (run, first_line) DO UPDATE SET lines = excluded.lines, bytes = excluded.bytes, body = excluded.body`,
		run, c.firstLine, c.firstByte, c.lines, c.bytes, s.pack.EncodeAll(c.raw, nil))
	return err
}

// Log returns the lines of a run's log that are numbered after+1 and on, at
// most limit of them (and never more than 5,000). Its cost does not depend on
// where in the log they are: only the chunks that hold them are read.
func (s *Store) Log(ctx context.Context, run string, after int64, limit int) (lines []protocol.LogLine, err error) {
	limit = bounded(limit, maxLogLines)
	err = s.view(ctx, "read the log of run "+run, func(t *tx) error {
		if _, err := t.run(ctx, run); err != nil {
			return err
		}
		lines, err = s.readLines(ctx, t, run, max(after, 0), limit)
		return err
	})
	return lines, err
}

func (s *Store) readLines(ctx context.Context, t *tx, run string, after int64, limit int) ([]protocol.LogLine, error) {
	rows, err := t.QueryContext(ctx, "SELECT "+chunkColumns+` FROM log_chunks
  WHERE run = ?1 AND first_line >= (SELECT max(first_line) FROM log_chunks WHERE run = ?1 AND first_line <= ?2 + 1)
  ORDER BY first_line`, run, after)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var lines []protocol.LogLine
	for len(lines) < limit && rows.Next() {
		c, err := s.scanChunk(rows)
		if err != nil {
			return nil, err
		}
		if lines, err = c.appendTo(lines, after, limit); err != nil {
			return nil, fmt.Errorf("the log of run %s: %w", run, err)
		}
	}
	return lines, rows.Err()
}
