package arena

import (
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Reader answers questions from what the arena has stored. Lists return the
// cursor of the next page, empty at the end. A missing object is the
// protocol's error for it (ErrNoCollection, ErrNoRun, …).
type Reader interface {
	Agent(ctx context.Context, id string) (protocol.Agent, error) // ErrNotFound when not registered
	Agents(ctx context.Context, owner string, page protocol.Page) ([]protocol.Agent, string, error)
	TokenByHash(ctx context.Context, sha256 [32]byte) (protocol.Token, error) // ErrBadToken when unknown or revoked
	Tokens(ctx context.Context) ([]protocol.Token, error)
	SessionByHash(ctx context.Context, sha256 [32]byte) (protocol.Session, error) // ErrSignedOut when unknown or over

	Message(ctx context.Context, filename string) (protocol.Message, error) // ErrNotFound
	Messages(ctx context.Context, page protocol.Page) ([]protocol.Message, string, error)

	Collection(ctx context.Context, id string) (protocol.Collection, error)
	Collections(ctx context.Context, f protocol.CollectionFilter, page protocol.Page) ([]protocol.Collection, string, error) // newest first

	CountCollections(ctx context.Context, f protocol.CollectionFilter) (int, error)

	Run(ctx context.Context, id string) (protocol.Run, error)
	Runs(ctx context.Context, f protocol.RunFilter, page protocol.Page) ([]protocol.Run, string, error) // newest first
	Tally(ctx context.Context, challenge string) (protocol.RunTally, error)
	Sums(ctx context.Context) (protocol.Ledger, error)                                     // Settled, Live and Recorded; Cap and Prior are configuration
	LaunchFacts(ctx context.Context, r protocol.Reservation) (protocol.LaunchFacts, error) // the facts that Reserve decides on, read without reserving
	LogCursor(ctx context.Context, run string) (protocol.LogCursor, error)
	Log(ctx context.Context, run string, after int64, limit int) ([]protocol.LogLine, error) // lines numbered after+1 and on

	Artifacts(ctx context.Context, run string) (fs.FS, []protocol.TreeFile, error)
	Bundle(ctx context.Context, treeID string) (fs.FS, []protocol.TreeFile, error) // ErrInvalidSource when no such bundle was uploaded

	Result(ctx context.Context, run string) (protocol.Result, error)
	RelayAccess(ctx context.Context, run string) (protocol.RelayAccess, error)                    // ErrNoRun when the run has no relay
	Results(ctx context.Context, challenge string) ([]protocol.Result, error)                     // all of a challenge, by collection time
	Verdict(ctx context.Context, collection, challenge string) (protocol.Verdict, error)          // the newest
	VerdictHistory(ctx context.Context, collection, challenge string) ([]protocol.Verdict, error) // every version, newest first

	Events(ctx context.Context, after int64, limit int) ([]protocol.Event, error)
	LastEvent(ctx context.Context) (int64, error)
	State(ctx context.Context) (int64, error) // another number after anything was committed
	Audit(ctx context.Context, page protocol.Page) ([]protocol.Audit, string, error)
	ViewReader
	Ready(ctx context.Context) error // nil when migrated and the disk takes writes
}

// Store keeps the arena's state. Every method that changes something is one
// transaction which also writes its audit row, its event and, where the request
// has one, its idempotency key; the boolean says that the object existed before
// and nothing was written.
type Store interface {
	Reader

	RegisterAgent(ctx context.Context, by protocol.Actor, a protocol.Agent) (protocol.Agent, bool, error)
	CreateToken(ctx context.Context, by protocol.Actor, t protocol.Token, sha256 [32]byte) error
	RevokeToken(ctx context.Context, by protocol.Actor, idOrName string) (int, error)
	OpenSession(ctx context.Context, by protocol.Actor, s protocol.Session, sha256 [32]byte) error
	CloseSession(ctx context.Context, by protocol.Actor, sha256 [32]byte) error
	PostMessage(ctx context.Context, by protocol.Actor, m protocol.Message) (protocol.Message, bool, error)

	SaveBundle(ctx context.Context, treeID string, files []protocol.TreeFile, open func(path string) (io.ReadCloser, error)) error
	OverlapSeen(ctx context.Context, by protocol.Actor, source protocol.Source, found map[string]int) error
	Submit(ctx context.Context, by protocol.Actor, c protocol.Collection) (protocol.Collection, bool, error)

	Reserve(ctx context.Context, by protocol.Actor, r protocol.Reservation) (protocol.Run, bool, error)
	JobStarted(ctx context.Context, by protocol.Actor, run string, job protocol.Job) (protocol.Run, error)
	OpenRelay(ctx context.Context, by protocol.Actor, run string, job, model [sha256.Size]byte) error
	RelayCounted(ctx context.Context, run string, c protocol.RelayCounters) error
	LaunchRefused(ctx context.Context, by protocol.Actor, run, reason string, fault protocol.FaultClass) (protocol.Run, error)
	LateJob(ctx context.Context, by protocol.Actor, run string, job protocol.Job, reason string, billed protocol.Micros, ended time.Time) error
	CancelAsked(ctx context.Context, by protocol.Actor, run string) (protocol.Run, error)
	CancelTaken(ctx context.Context, run string) (protocol.Run, error)
	Unreachable(ctx context.Context, run string, since *time.Time) error
	AppendLog(ctx context.Context, run string, batch protocol.LogBatch) (protocol.Run, error)
	SaveArtifacts(ctx context.Context, run string, files []protocol.TreeFile, open func(path string) (io.ReadCloser, error)) error
	Finish(ctx context.Context, by protocol.Actor, run string, end protocol.Ending) (protocol.Run, error)

	SaveResult(ctx context.Context, by protocol.Actor, r protocol.Result) (protocol.Result, bool, error)
	AttachVerdict(ctx context.Context, by protocol.Actor, v protocol.Verdict) (protocol.Verdict, error)
	Claim(ctx context.Context, by protocol.Actor, run string, release bool) (protocol.Result, error)
	Review(ctx context.Context, by protocol.Actor, run string, d protocol.Review) (protocol.Result, error)
}
