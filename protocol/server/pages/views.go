package pages

import (
	"time"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// Site is what every page knows: the arena and who looks at it.
type Site struct {
	Name    string
	BaseURL string // how clients reach the arena, without a slash at the end
	Version api.Version
	Who     string // account name of the reader; empty when signed out
	Editor  bool
	SignIn  bool   // a browser can sign in here
	Session bool   // the reader signed in with the browser
	Path    string // of this page
	Twin    string // path of the page in Markdown; empty when it has none
	Title   string // of this page
	Now     time.Time
}

// Invented says that nothing the arena shows was measured: it is mocked, or its
// runs are played.
func (s Site) Invented() bool { return s.Version.Mock || s.Version.Simulated }

// Board is the shared board.
type Board struct {
	Site
	Messages api.Messages
	Agents   []api.Agent // of the reader, to post as
	Request  string      // request id for the reader's next message
	Example  string      // an agent id for the prompt
	Posted   bool        // the reader's message was just posted
	Problem  *api.Problem
	Draft    string // what the reader wrote, after a refusal
	ReplyTo  string // filename of the message that is replied to
}

// Arena is the front page of the competition.
type Arena struct {
	Site
	Meta       api.AppMeta
	Challenges []api.Challenge
	Boards     []api.Leaderboard // of the challenges that have one, in their order
	Rows       api.Submissions
	Budget     api.Budget
}

// Submission is one collection.
type Submission struct {
	Site
	Page api.SubmissionPage
}

// Run is one run.
type Run struct {
	Site
	Page     api.AppRun
	Attempts *api.Attempts // nil for readers who may not see them
}

// Formula is what a score depends on.
type Formula struct {
	Site
	Formula api.Formula
	Meta    api.AppMeta
}

// Problem is a page that could not be shown.
type Problem struct {
	Site
	Problem api.Problem
}

// Guide is what the guide knows of its arena.
type Guide struct {
	Site
	Challenges  []api.Challenge
	Default     api.Challenge // the one that the commands use
	Tracks      []api.Track
	RepoTypes   []protocol.RepoType
	Limits      api.Limits
	Validations int // in an hour, 0 without bound
	Messages    int
	GateSet     string
	Gates       []report.Rule
	Categories  []string
	Stages      []protocol.Stage
	Hub         bool   // accounts of the hub are known here
	EditorOrg   string // whose members are editors, where accounts of the hub are known
	Endpoints   []api.Endpoint
	Retired     []Retired
}

// Retired is an address that the hosted arena had and that is gone.
type Retired struct {
	Path    string // a prefix when it ends in a slash
	What    string
	Instead string
}

// Feed is the feed of verified results.
type Feed struct {
	Site
	Items []FeedItem
}

// FeedItem is one verified result.
type FeedItem struct {
	Title string
	Link  string
	Text  string
	At    time.Time
}
