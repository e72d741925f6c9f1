package hubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Jobs is the part of the fake hub that runs GPU jobs. It keeps J1 J3 J4 J6 J7 J9
// J10 J12 J13 J14 J15 J16 J17 J18 J23. A job does what Play says, in the fake's
// own time; it counts the jobs that were ever started.
type Jobs struct {
	hub *HuggingFace
	// Namespace is the account that jobs belong to.
	Namespace string
	// Hardware is what there is to rent, as micro-dollars a minute.
	Hardware map[string]int
	// Play is called for each new job, before its creation is answered; nil leaves
	// the job running without a word.
	Play func(*Job)
	// NoCredit refuses every job for want of money.
	NoCredit bool
	// BreakEvery ends a log stream after so many events; 0 does not.
	BreakEvery int
	// Unending keeps log streams open after the job has ended.
	Unending bool
	// Hidden is how many listings do not show a job yet.
	Hidden int

	mu      sync.Mutex
	all     []*Job
	changed chan struct{} // closed and replaced whenever something happens
}

// Job is one job of the fake.
type Job struct {
	jobs *Jobs
	ID   string
	Spec JobSpec

	stage, message             string
	created, started, finished time.Time
	events                     []event
	hidden                     int
}

type event struct {
	At   time.Time
	Text string
}

// JobSpec is what a job was created with.
type JobSpec struct {
	DockerImage    string            `json:"dockerImage"`
	Command        []string          `json:"command"`
	Arguments      []string          `json:"arguments"`
	Environment    map[string]string `json:"environment"`
	Secrets        map[string]string `json:"secrets"`
	Flavor         string            `json:"flavor"`
	TimeoutSeconds int               `json:"timeoutSeconds"`
	Attempts       int               `json:"attempts"`
	Labels         map[string]string `json:"labels"`
}

// NewJobs adds the jobs of an account to a hub.
func NewJobs(h *HuggingFace, namespace string) *Jobs {
	j := &Jobs{hub: h, Namespace: namespace, Hardware: map[string]int{"cpu-basic": 167, "a100x8": 333_333}, changed: make(chan struct{})}
	h.Handle("GET /api/jobs/hardware", j.hardware)
	h.Handle("POST /api/jobs/{ns}", j.create)
	h.Handle("GET /api/jobs/{ns}", j.list)
	h.Handle("GET /api/jobs/{ns}/{id}", j.inspect)
	h.Handle("POST /api/jobs/{ns}/{id}/cancel", j.cancel)
	h.Handle("GET /api/jobs/{ns}/{id}/logs", j.logs)
	return j
}

// All returns the jobs that were ever started, oldest first.
func (j *Jobs) All() []*Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.all)
}

// Forget makes a job unknown, as one that was deleted long ago.
func (j *Jobs) Forget(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = slices.DeleteFunc(j.all, func(o *Job) bool { return o.ID == id })
}

func (j *Jobs) wake() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// Print adds an event to the job's log for each text. The first print has the job
// running.
func (o *Job) Print(texts ...string) {
	o.jobs.mu.Lock()
	defer o.jobs.mu.Unlock()
	o.run()
	for _, text := range texts {
		o.events = append(o.events, event{o.jobs.hub.Now(), text})
	}
	o.jobs.wake()
}

// Run has the job running without a word.
func (o *Job) Run() {
	o.jobs.mu.Lock()
	defer o.jobs.mu.Unlock()
	o.run()
}

// run begins the job. The caller holds mu.
func (o *Job) run() {
	if o.started.IsZero() {
		o.started, o.stage = o.jobs.hub.Now(), "RUNNING"
		o.events = append(o.events, event{o.started, "===== Job started at " + o.started.UTC().Format(time.DateTime) + " ====="})
	}
}

// End ends the job in a stage, with the provider's explanation, after it has run
// for so long.
func (o *Job) End(stage, message string, ran time.Duration) {
	o.jobs.mu.Lock()
	defer o.jobs.mu.Unlock()
	o.run()
	o.stage, o.message, o.finished = stage, message, o.started.Add(ran)
	o.events = append(o.events, event{o.jobs.hub.Now(), "===== Job finished: status=" + stage + " ====="})
	o.jobs.wake()
}

// Stage is where the job is.
func (o *Job) Stage() string {
	o.jobs.mu.Lock()
	defer o.jobs.mu.Unlock()
	return o.stage
}

// row is the job as the API shows it (J7). The caller holds mu.
func (o *Job) row() map[string]any {
	stamp := func(t time.Time) any {
		if t.IsZero() {
			return nil
		}
		return t.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	names := []string{}
	for name := range o.Spec.Secrets {
		names = append(names, name)
	}
	slices.Sort(names)
	status := map[string]any{"stage": o.stage, "message": nil, "failureCount": 0}
	if o.message != "" {
		status["message"] = o.message
	}
	row := map[string]any{
		"type": "job", "id": o.ID, "createdAt": stamp(o.created), "startedAt": stamp(o.started), "finishedAt": stamp(o.finished),
		"dockerImage": o.Spec.DockerImage, "command": o.Spec.Command, "environment": o.Spec.Environment, "secrets": names,
		"flavor": o.Spec.Flavor, "timeout": o.Spec.TimeoutSeconds, "labels": o.Spec.Labels, "status": status,
		"owner":     map[string]string{"id": accountID(o.jobs.Namespace, ""), "name": o.jobs.Namespace, "type": "org"},
		"createdBy": map[string]string{"id": accountID("arena-bot", ""), "name": "arena-bot"},
	}
	if !o.finished.IsZero() {
		ran := o.finished.Sub(o.started)
		row["durations"] = map[string]any{"schedulingSecs": 3, "runningSecs": int(ran / time.Second), "totalSecs": int(ran/time.Second) + 3}
	}
	return row
}

func (j *Jobs) hardware(w http.ResponseWriter, _ *http.Request) {
	rows := []map[string]any{}
	for name, micro := range j.Hardware {
		row := map[string]any{"name": name, "prettyName": strings.ToUpper(name), "cpu": "96 vCPU", "ram": "1136 GB", "unitCostMicroUSD": micro, "unitCostUSD": float64(micro) / 1e6, "unitLabel": "minute", "accelerator": nil}
		if strings.HasPrefix(name, "a100") {
			row["accelerator"] = map[string]string{"type": "gpu", "model": "A100", "quantity": "8", "vram": "640 GB", "manufacturer": "Nvidia"}
		}
		rows = append(rows, row)
	}
	writeJSON(w, http.StatusOK, rows)
}

// admit checks the caller's right to the namespace's jobs (J9).
func (j *Jobs) admit(w http.ResponseWriter, r *http.Request) bool {
	t, ok := j.hub.Bearer(w, r)
	switch {
	case !ok:
		return false
	case t == nil:
		hubError(w, http.StatusUnauthorized, "", "Invalid username or password.")
		return false
	case r.PathValue("ns") != j.Namespace:
		hubError(w, http.StatusNotFound, "", "Namespace not found")
		return false
	case t.Kind != "write":
		hubError(w, http.StatusForbidden, "", "You don't have the required permissions to complete this action on namespace "+j.Namespace+", missing permissions: job.write.")
		return false
	}
	return true
}

var labelPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

func (j *Jobs) create(w http.ResponseWriter, r *http.Request) {
	if !j.admit(w, r) {
		return
	}
	var spec JobSpec
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&spec); err != nil {
		hubError(w, http.StatusBadRequest, "", "Invalid body: "+err.Error())
		return
	}
	if spec.Attempts != 1 || spec.TimeoutSeconds <= 0 || r.Header.Get("Idempotency-Key") != "" {
		j.hub.T.Errorf("a job is asked for with attempts=%d timeout=%d: it might run twice, or stop after half an hour", spec.Attempts, spec.TimeoutSeconds)
	}
	for name, value := range spec.Labels {
		if !labelPattern.MatchString(name) || !labelPattern.MatchString(value) {
			hubError(w, http.StatusBadRequest, "", "Invalid label")
			return
		}
	}
	switch _, ok := j.Hardware[spec.Flavor]; {
	case j.NoCredit:
		hubError(w, http.StatusPaymentRequired, "", "Pre-paid credit balance is insufficient - add more credits to your account to use Jobs.")
		return
	case !ok:
		hubError(w, http.StatusBadRequest, "", "Invalid flavor "+spec.Flavor)
		return
	case spec.DockerImage == "" || len(spec.Command) == 0:
		hubError(w, http.StatusUnprocessableEntity, "", "dockerImage and command are required")
		return
	}
	j.mu.Lock()
	job := &Job{jobs: j, ID: fmt.Sprintf("%024x", 0xa0000+len(j.all)), Spec: spec, stage: "SCHEDULING", created: j.hub.Now(), hidden: j.Hidden}
	j.all = append(j.all, job)
	row := job.row()
	j.mu.Unlock()
	if j.Play != nil {
		j.Play(job)
	}
	writeJSON(w, http.StatusOK, row)
}

func (j *Jobs) list(w http.ResponseWriter, r *http.Request) {
	if !j.admit(w, r) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	rows := []map[string]any{}
	for _, o := range slices.Backward(j.all) {
		has := true
		for _, label := range r.URL.Query()["label"] {
			name, value, _ := strings.Cut(label, "=")
			has = has && o.Spec.Labels[name] == value
		}
		if stages := r.URL.Query()["stage"]; !has || len(stages) > 0 && !slices.Contains(stages, o.stage) {
			continue
		}
		if o.hidden > 0 {
			o.hidden--
			continue
		}
		rows = append(rows, o.row())
	}
	from, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("cursor"), "after-"))
	rows = rows[min(from, len(rows)):]
	if len(rows) > j.hub.Page {
		rows = rows[:j.hub.Page]
		q := r.URL.Query()
		q.Set("cursor", "after-"+strconv.Itoa(from+j.hub.Page))
		w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next"`, j.hub.URL+r.URL.EscapedPath()+"?"+q.Encode()))
	}
	writeJSON(w, http.StatusOK, rows)
}

// find returns the job of a request; when there is none it answers.
func (j *Jobs) find(w http.ResponseWriter, r *http.Request) *Job {
	if !j.admit(w, r) {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, o := range j.all {
		if o.ID == r.PathValue("id") {
			return o
		}
	}
	hubError(w, http.StatusNotFound, "", "Job not found")
	return nil
}

func (j *Jobs) inspect(w http.ResponseWriter, r *http.Request) {
	if o := j.find(w, r); o != nil {
		j.mu.Lock()
		row := o.row()
		j.mu.Unlock()
		writeJSON(w, http.StatusOK, row)
	}
}

func (j *Jobs) cancel(w http.ResponseWriter, r *http.Request) {
	o := j.find(w, r)
	if o == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !o.finished.IsZero() || o.stage == "CANCELED" {
		hubError(w, http.StatusConflict, "", "Job is already finished")
		return
	}
	o.stage = "CANCELED"
	if !o.started.IsZero() {
		o.finished = j.hub.Now()
	}
	j.wake()
	writeJSON(w, http.StatusOK, o.row())
}

// logs replays the log from its first event and follows it (J14, J15).
func (j *Jobs) logs(w http.ResponseWriter, r *http.Request) {
	o := j.find(w, r)
	if o == nil {
		return
	}
	if r.Header.Get("Accept") != "text/event-stream" {
		j.hub.T.Errorf("a log is asked for as %q", r.Header.Get("Accept"))
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush(w)
	keepAlive := time.NewTicker(30 * time.Second)
	defer keepAlive.Stop()
	for n := 0; ; {
		j.mu.Lock()
		fresh, over, changed := o.events[n:], o.stage != "RUNNING" && o.stage != "SCHEDULING", j.changed
		j.mu.Unlock()
		for _, e := range fresh {
			raw, _ := json.Marshal(map[string]string{"timestamp": e.At.UTC().Format("2006-01-02T15:04:05.000Z"), "data": e.Text})
			fmt.Fprintf(w, "data: %s\n\n", raw)
			if n++; j.BreakEvery > 0 && n%j.BreakEvery == 0 {
				flush(w)
				j.mu.Lock()
				j.BreakEvery++ // so that a reader that starts again gets on
				j.mu.Unlock()
				hangUp(w)
				return
			}
		}
		flush(w)
		if over && !j.Unending {
			return
		}
		select {
		case <-changed:
		case <-keepAlive.C:
			fmt.Fprint(w, ": keep-alive\n\n")
			flush(w)
		case <-r.Context().Done():
			return
		case <-j.hub.closing:
			return
		}
	}
}
