package protocol

// MaxPage is the most rows one answer of a list holds (PROTOCOL §3).
const MaxPage = 200

// Page asks for a part of a list. Lists are ordered by time and id, so walking
// them neither repeats nor skips a row when others are added meanwhile.
type Page struct {
	Limit  int    // 1 to MaxPage; 0 means DefaultPage
	Cursor string // what the previous answer gave as next; empty for the start
}

// DefaultPage is the number of rows when a request names none.
const DefaultPage = 100

// Rows is the page's limit within its bounds.
func (p Page) Rows() int {
	if p.Limit <= 0 {
		return DefaultPage
	}
	return min(p.Limit, MaxPage)
}

// Actor is who changes something, as the audit trail records it.
type Actor struct {
	Name      string // account name, or ActorArena
	RequestID string // X-Request-Id of the request; empty for the arena's own acts
}

// ActorArena is the actor of what the arena does by itself: watching jobs,
// settling the ledger, reconciling after a crash.
const ActorArena = "arena"
