package hfjobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub/blobcache"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/outbound"
)

// Name is the provider's name in configuration.
const Name = "huggingface"

// label is the label by which a job is found again; jobs have their run's id there.
const label = "arena-run"

// Options is what the provider needs of its surroundings.
type Options struct {
	URL         string            // base address of the hub, without a slash at the end
	Namespace   string            // the account that jobs belong to and that pays
	RunsDataset string            // OWNER/NAME of the private dataset of runs
	Token       string            // of the arena; needs job.write, and repo.write on the dataset
	Secrets     map[string]string // what every job gets besides, by name
	Transport   http.RoundTripper // nil for one of its own
	UserAgent   string            // product/version
	Cache       *blobcache.Cache  // of what jobs have left
	Now         func() time.Time
	// Sleep waits between tries; nil for the real clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// Settle is how long an unseen job may take to appear in the listing, which
	// the hub does not say (Z3): only after that is an empty listing proof.
	// 0: two minutes.
	Settle time.Duration
	// Quiet is after how much silence of a log the job is asked how it is, and
	// Last how long the end of an ended job's log is waited for. 0: 15 s each.
	Quiet, Last time.Duration
	// Timeout bounds one try of a request; a commit may take four times as long, and
	// the upload of a large file ten times. 0: half a minute.
	Timeout time.Duration
}

// Provider runs jobs on Hugging Face Jobs. It is safe for concurrent use.
type Provider struct {
	options Options
	client  *outbound.Client

	mu     sync.Mutex
	asked  map[string]time.Time // when a run's job may last have been created, by run
	opened time.Time            // before it this process knows of nothing
}

// New makes the provider. It asks nobody yet.
func New(o Options) *Provider {
	o.Settle, o.Quiet, o.Last = cmp.Or(o.Settle, 2*time.Minute), cmp.Or(o.Quiet, 15*time.Second), cmp.Or(o.Last, 15*time.Second)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.URL = strings.TrimSuffix(o.URL, "/")
	if o.Transport == nil {
		o.Transport = outbound.NewTransport(16)
	}
	return &Provider{
		options: o, asked: map[string]time.Time{}, opened: o.Now(),
		client: &outbound.Client{
			Transport: o.Transport, UserAgent: o.UserAgent, Now: o.Now, Sleep: o.Sleep,
			Pauses: []time.Duration{time.Second, 2 * time.Second}, MaxWait: 5 * time.Second, Judge: outbound.JudgeRateLimit,
		},
	}
}

// Name implements jobs.Provider.
func (*Provider) Name() string { return Name }

// jobsURL is an address below the namespace's jobs.
func (p *Provider) jobsURL(segments ...string) string {
	s := p.options.URL + "/api/jobs/" + url.PathEscape(p.options.Namespace)
	for _, segment := range segments {
		s += "/" + url.PathEscape(segment)
	}
	return s
}

func (p *Provider) call(doing, method, address string, body []byte) outbound.Call {
	c := outbound.Call{Doing: doing, Method: method, URL: address, Header: http.Header{"Accept": {"application/json"}}, Token: p.options.Token, Timeout: p.options.Timeout, Body: body}
	if body != nil {
		c.Header.Set("Content-Type", "application/json")
	}
	return c
}

// get reads an answer of at most limit bytes.
func (p *Provider) get(ctx context.Context, doing, address string, limit int64, into any) error {
	return p.client.Do(ctx, p.call(doing, http.MethodGet, address, nil), func(r *http.Response) error { return outbound.JSON(r, limit, into) })
}

// Limits of answers, in bytes and rows.
const (
	maxJob      = 1 << 20
	maxList     = 32 << 20
	maxHardware = 1000
	maxPages    = 50
)

// reading classifies the failure of a call that only reads, or that had no effect:
// everything but a job that is not there can be tried again.
func reading(err error) error {
	if e, ok := errors.AsType[*outbound.Error](err); ok && e.Status == http.StatusNotFound && e.Err == nil {
		return fmt.Errorf("%w: %w", jobs.ErrNoJob, err)
	}
	return unreachable(err)
}

// unreachable classifies the failure of a call that had no effect. A limit of the
// hub's has a moment when it ends, for whoever waits for it.
func unreachable(err error) error {
	if e, ok := errors.AsType[*outbound.Error](err); ok && e.Limit != "" {
		wait := cmp.Or(e.Wait, unsaid)
		err = protocol.ErrProviderAway.Detailf("At Hugging Face %s is used up and resets in %s.", e.Limit, wait).After(wait).Because(err)
	}
	return fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
}

// unsaid is how long to wait for the end of a limit when the hub does not say.
const unsaid = 30 * time.Second

// preparing classifies the failure of a call that comes before the one that creates
// a job: whatever became of it, there is no job.
func preparing(err error) error {
	if e, ok := errors.AsType[*outbound.Error](err); ok && e.Err == nil && refusal(e.Status) && e.Status != http.StatusTooManyRequests && e.Status != http.StatusPreconditionFailed {
		return fmt.Errorf("%w: %w", jobs.ErrRefused, err)
	}
	if errors.Is(err, jobs.ErrRefused) {
		return err
	}
	return unreachable(err)
}

// refusal reports whether a status says that nothing was done (J9).
func refusal(status int) bool {
	return status/100 == 4 && status != http.StatusRequestTimeout
}

// creating classifies the failure of the call that creates a job (J9). That a 429
// creates none is not documented (Z8); whoever asks again looks by the label first.
func creating(err error) error {
	e, ok := errors.AsType[*outbound.Error](err)
	switch {
	case ok && (e.Status == 0 && !e.Sent || e.Status == http.StatusTooManyRequests):
		return unreachable(err)
	case ok && e.Err == nil && refusal(e.Status):
		return fmt.Errorf("%w: %w", jobs.ErrRefused, err)
	default:
		return fmt.Errorf("%w: %w", jobs.ErrUnknown, err)
	}
}

// Hardware implements jobs.Provider with the hub's own list (J1).
func (p *Provider) Hardware(ctx context.Context) ([]jobs.Flavor, error) {
	var rows []struct {
		Name       string      `json:"name"`
		PrettyName string      `json:"prettyName"`
		MicroUSD   json.Number `json:"unitCostMicroUSD"`
		Unit       string      `json:"unitLabel"`
	}
	if err := p.get(ctx, "list the hardware of jobs", p.options.URL+"/api/jobs/hardware", maxJob, &rows); err != nil {
		if e, ok := errors.AsType[*outbound.Error](err); ok && e.Status == http.StatusNotFound {
			return nil, unreachable(err) // no job is missing here
		}
		return nil, reading(err)
	}
	if len(rows) > maxHardware {
		return nil, fmt.Errorf("%w: the hub lists %d kinds of hardware, which cannot be", jobs.ErrUnreachable, len(rows))
	}
	var all []jobs.Flavor
	seen := map[string]bool{}
	for _, r := range rows {
		micros, err := r.MicroUSD.Float64()
		// A price by anything but the minute would be misread, and what has no
		// price cannot be reserved.
		if err != nil || r.Unit != "minute" || r.Name == "" || seen[r.Name] || micros < 0 || micros > 1e12 {
			continue
		}
		seen[r.Name] = true
		all = append(all, jobs.Flavor{Name: r.Name, Description: r.PrettyName, PricePerHour: protocol.Micros(math.Floor(micros+0.5)) * 60})
	}
	return all, nil
}

// job is a job as the hub shows it (J7).
type job struct {
	ID         string            `json:"id"`
	CreatedAt  time.Time         `json:"createdAt"`
	StartedAt  *time.Time        `json:"startedAt"`
	FinishedAt *time.Time        `json:"finishedAt"`
	Timeout    float64           `json:"timeout"` // seconds
	Labels     map[string]string `json:"labels"`
	Owner      struct {
		Name string `json:"name"`
	} `json:"owner"`
	Durations *struct {
		RunningSecs *float64 `json:"runningSecs"`
	} `json:"durations"`
	Status struct {
		Stage        string  `json:"stage"`
		Message      *string `json:"message"`
		CancelReason string  `json:"cancelReason"`
	} `json:"status"`
}

// jobID is what a job's id may look like, so that it can stand in an address.
var jobID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (p *Provider) from(j job) (jobs.Job, error) {
	if !jobID.MatchString(j.ID) || j.CreatedAt.IsZero() {
		return jobs.Job{}, errors.New("it describes no job")
	}
	out := jobs.Job{ID: j.ID, Run: j.Labels[label], Status: stage(j), URL: p.options.URL + "/jobs/" + url.PathEscape(cmp.Or(j.Owner.Name, p.options.Namespace)) + "/" + j.ID, CreatedAt: j.CreatedAt.UTC()}
	if j.Status.Message != nil {
		out.Message = oneLine(*j.Status.Message)
	}
	if j.Status.CancelReason != "" {
		out.Message = strings.TrimSpace(out.Message + " (" + oneLine(j.Status.CancelReason) + ")")
	}
	if j.StartedAt != nil {
		out.StartedAt = j.StartedAt.UTC()
	}
	if j.FinishedAt != nil {
		out.EndedAt = j.FinishedAt.UTC()
	} else if out.Status.Ended() {
		out.EndedAt = cmp.Or(out.StartedAt, out.CreatedAt)
	}
	out.Billed = p.billed(j, out)
	return out, nil
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	return s[:min(len(s), 300)]
}

// stage maps the hub's word (J12). A word that is not known is of a live job: what
// ends a run must be certain. A job that failed after its whole time has reached
// its limit; only its own text says so otherwise.
func stage(j job) jobs.Status {
	switch strings.ToUpper(j.Status.Stage) {
	case "SCHEDULING":
		return jobs.Scheduling
	case "COMPLETED":
		return jobs.Completed
	case "CANCELED", "CANCELLED":
		return jobs.Canceled
	case "DELETED":
		return jobs.Deleted
	case "ERROR":
		if ran, ok := running(j); ok && j.Timeout > 0 && ran.Seconds() >= j.Timeout {
			return jobs.TimedOut
		}
		return jobs.Failed
	default:
		return jobs.Running
	}
}

// running is how long the job ran, when the hub says so.
func running(j job) (time.Duration, bool) {
	if d := j.Durations; d != nil && d.RunningSecs != nil && *d.RunningSecs >= 0 && *d.RunningSecs < 1e9 {
		return time.Duration(*d.RunningSecs * float64(time.Second)), true
	}
	if j.StartedAt != nil && j.FinishedAt != nil {
		return max(0, j.FinishedAt.Sub(*j.StartedAt)), true
	}
	return 0, false
}

// billed is the time that costs money: whole minutes (J23; how they are rounded is
// not documented). A job that ended without saying when was canceled while it
// ran, and costs at most what it may have run until now.
func (p *Provider) billed(j job, out jobs.Job) time.Duration {
	ran, known := running(j)
	switch {
	case known:
	case out.StartedAt.IsZero():
		return 0
	default:
		ran = max(0, p.options.Now().UTC().Sub(out.StartedAt))
		if j.Timeout > 0 {
			ran = min(ran, time.Duration(j.Timeout*float64(time.Second)))
		}
	}
	return (ran + time.Minute - 1).Truncate(time.Minute)
}

// createRequest is the body that creates a job (J3).
type createRequest struct {
	DockerImage string            `json:"dockerImage"`
	Command     []string          `json:"command"`
	Arguments   []string          `json:"arguments"`
	Environment map[string]string `json:"environment"`
	Secrets     map[string]string `json:"secrets"`
	Flavor      string            `json:"flavor"`
	Timeout     int64             `json:"timeoutSeconds"`
	Attempts    int               `json:"attempts"`
	Labels      map[string]string `json:"labels"`
}

// Start implements jobs.Provider: the run's files are stored, then the job is
// asked for, once.
func (p *Provider) Start(ctx context.Context, spec jobs.Spec) (jobs.Job, error) {
	if len(spec.Command) == 0 || spec.Image == "" || spec.Timeout < time.Second {
		return jobs.Job{}, fmt.Errorf("%w: a job needs an image, a command and a time limit", jobs.ErrRefused)
	}
	input, err := p.storeInput(ctx, spec)
	if err != nil {
		return jobs.Job{}, preparing(err)
	}
	env := maps.Clone(spec.Env)
	if env == nil {
		env = map[string]string{}
	}
	env["ARENA_BUNDLE_REPO"], env["ARENA_BUNDLE_REVISION"], env["ARENA_BUNDLE_PATH"] = p.options.RunsDataset, input, inputDir(spec.Run)
	env["ARENA_OUTPUT_REPO"], env["ARENA_OUTPUT_PATH"] = p.options.RunsDataset, outputDir(spec.Run)
	env["ARENA_TIMEOUT_SECONDS"] = strconv.FormatInt(int64(spec.Timeout/time.Second), 10)
	secrets := map[string]string{}
	maps.Copy(secrets, p.options.Secrets)
	maps.Copy(secrets, spec.Secrets)
	body, err := json.Marshal(createRequest{
		DockerImage: spec.Image, Command: spec.Command, Arguments: []string{}, Environment: env, Secrets: secrets, Flavor: spec.Flavor,
		Timeout: int64(spec.Timeout / time.Second), Attempts: 1, Labels: map[string]string{"name": spec.Run, label: spec.Run},
	})
	if err != nil {
		return jobs.Job{}, fmt.Errorf("%w: %w", jobs.ErrRefused, err)
	}
	p.mark(spec.Run)
	call := p.call("create the job of "+spec.Run, http.MethodPost, p.jobsURL(), body)
	call.Once = true
	var created jobs.Job
	err = p.client.Do(ctx, call, func(r *http.Response) error {
		var j job
		if err := outbound.JSON(r, maxJob, &j); err != nil {
			return err
		}
		var err error
		created, err = p.from(j)
		return err
	})
	if err == nil {
		created.Run = spec.Run
		return created, nil
	}
	err = creating(err)
	if !errors.Is(err, jobs.ErrUnknown) {
		p.unmark(spec.Run)
	}
	return jobs.Job{}, err
}

func (p *Provider) mark(run string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[run] = p.options.Now()
}

func (p *Provider) unmark(run string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, run)
}

// Inspect implements jobs.Provider.
func (p *Provider) Inspect(ctx context.Context, id string) (jobs.Job, error) {
	if !jobID.MatchString(id) {
		return jobs.Job{}, fmt.Errorf("%w: %q is no id of a job", jobs.ErrNoJob, id)
	}
	var out jobs.Job
	err := p.client.Do(ctx, p.call("look at job "+id, http.MethodGet, p.jobsURL(id), nil), func(r *http.Response) error {
		var j job
		if err := outbound.JSON(r, maxJob, &j); err != nil {
			return err
		}
		if j.ID != id {
			return errors.New("it describes another job")
		}
		var err error
		out, err = p.from(j)
		return err
	})
	if err != nil {
		return jobs.Job{}, reading(err)
	}
	return out, nil
}

// Find implements jobs.Provider. How soon a new job is listed is not documented
// (Z3), so an empty list counts only when no job can have been asked for within
// Settle; until then it is ErrUnreachable, and worth another look.
func (p *Provider) Find(ctx context.Context, run string) ([]jobs.Job, error) {
	found, err := p.listed(ctx, run)
	if err != nil || len(found) > 0 {
		return found, err
	}
	p.mu.Lock()
	since, ours := p.asked[run]
	if !ours {
		since = p.opened // another process may have asked before
	}
	p.mu.Unlock()
	if wait := p.options.Settle - p.options.Now().Sub(since); wait > 0 {
		return nil, fmt.Errorf("%w: the hub lists no job of %s yet, which proves nothing for another %s", jobs.ErrUnreachable, run, wait.Round(time.Second))
	}
	p.unmark(run)
	return nil, nil
}

// listed lists the jobs with a run's label, oldest first (J13).
func (p *Provider) listed(ctx context.Context, run string) ([]jobs.Job, error) {
	first := p.jobsURL() + "?" + url.Values{"label": {label + "=" + run}}.Encode()
	origin, err := url.Parse(first)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	var all []jobs.Job
	for next, seen := first, map[string]bool{}; next != ""; {
		if seen[next] || len(seen) == maxPages {
			return nil, fmt.Errorf("%w: the hub's list of jobs does not end", jobs.ErrUnreachable)
		}
		seen[next] = true
		var rows []job
		var link string
		err := p.client.Do(ctx, p.call("look for jobs of "+run, http.MethodGet, next, nil), func(r *http.Response) error {
			link = nextLink(r.Header)
			rows = nil
			err := outbound.JSON(r, maxList, &rows)
			if err == nil && rows == nil {
				err = errors.New("it is no list") // null is no proof that there is no job
			}
			return err
		})
		if err != nil {
			return nil, unreachable(err)
		}
		for _, j := range rows {
			if j.Labels[label] != run { // a filter that is not understood shows everything
				continue
			}
			one, err := p.from(j)
			if err != nil {
				return nil, fmt.Errorf("%w: the hub's list of jobs: %w", jobs.ErrUnreachable, err)
			}
			all = append(all, one)
		}
		if next, err = sameOrigin(origin, link); err != nil {
			return nil, fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
		}
	}
	slices.SortStableFunc(all, func(a, b jobs.Job) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all, nil
}

// Cancel implements jobs.Provider. What the hub answers for a job that has ended is
// not documented (Z7), so its stage decides.
func (p *Provider) Cancel(ctx context.Context, id string) error {
	before, err := p.Inspect(ctx, id)
	if err != nil || before.Status.Ended() {
		return err
	}
	err = p.client.Do(ctx, p.call("cancel job "+id, http.MethodPost, p.jobsURL(id, "cancel"), []byte{}), func(*http.Response) error { return nil })
	if err == nil {
		return nil
	}
	if after, look := p.Inspect(ctx, id); look == nil && after.Status.Ended() {
		return nil
	}
	return reading(err)
}

var linkPattern = regexp.MustCompile(`<([^>]*)>[^,]*?;\s*rel\s*=\s*"?next"?`)

// nextLink finds the next page in Link headers (H8).
func nextLink(h http.Header) string {
	for _, header := range h.Values("Link") {
		if m := linkPattern.FindStringSubmatch(header); m != nil {
			return m[1]
		}
	}
	return ""
}

// sameOrigin completes the address of a next page, which must not lead away: the
// token goes with it.
func sameOrigin(origin *url.URL, link string) (string, error) {
	if link == "" {
		return "", nil
	}
	u, err := origin.Parse(link)
	if err != nil || u.Scheme != origin.Scheme || u.Host != origin.Host {
		return "", errors.New("the pages of a list lead to another server")
	}
	return u.String(), nil
}
