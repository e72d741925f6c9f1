package k8stest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Options configures a Server.
type Options struct {
	// Now is the cluster's clock.
	Now func() time.Time
	// Token is the only one that is let in.
	Token string
	// Namespace is the only one there is.
	Namespace string
	// Volumes are the directories behind claims.
	Volumes map[string]string
	// Secrets are the names of secrets.
	Secrets []string
	// GPUs is how many the nodes have in all, under any name with a slash in it.
	GPUs int64
	// Program is what every container does; its result is the exit code. nil: pods
	// stay as they are made until Edit changes them.
	Program func(ctx context.Context, c *Container) int
}

// Server is a cluster. Start makes one.
type Server struct {
	options Options
	http    *httptest.Server

	mu       sync.Mutex
	jobs     map[string]*batch.Job
	pods     map[string]*node // by the name of their job
	faults   []*Fault
	requests []Request
	version  int
	created  int
	programs sync.WaitGroup
}

// Request is a request that was made, with its body.
type Request struct {
	Method, URL, Body string
	Header            http.Header
}

// node is a pod and what its node knows of it.
type node struct {
	pod     *core.Pod
	lines   []line
	changed chan struct{} // closed when the log has grown or ended
	stop    context.CancelFunc
	over    bool // the container has ended and will print nothing more
}

type line struct {
	at   time.Time
	text string
}

// Container is what a program sees of the container that it plays.
type Container struct {
	Job  *batch.Job
	Spec core.Container
	node *node
	s    *Server
}

// Print writes a line to the container's output.
func (c *Container) Print(text string) { c.PrintAt(c.s.options.Now(), text) }

// PrintAt writes a line that the node stamps with a time.
func (c *Container) PrintAt(at time.Time, text string) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.node.lines = append(c.node.lines, line{at, text})
	c.node.wake()
}

// Path returns where a path inside the container is on this machine.
func (c *Container) Path(inside string) string {
	for _, m := range c.Spec.VolumeMounts {
		if rest, ok := strings.CutPrefix(inside, m.MountPath); ok && m.SubPath != "" {
			return filepath.Join(c.s.volume(c.Job, m.Name), filepath.FromSlash(m.SubPath), filepath.FromSlash(rest))
		}
	}
	return ""
}

// Getenv returns a variable of the container.
func (c *Container) Getenv(name string) string {
	for _, e := range c.Spec.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

func (n *node) wake() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// Start starts a cluster that ends with the test, when every program has.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{options: o, jobs: map[string]*batch.Job{}, pods: map[string]*node{}}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.EnableHTTP2 = true
	s.http.Config.ErrorLog = nil
	s.http.StartTLS()
	t.Cleanup(func() {
		s.mu.Lock()
		for _, n := range s.pods {
			n.stop()
		}
		s.mu.Unlock()
		s.programs.Wait()
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// Close stops listening, as a cluster that is away.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Kubeconfig writes a kubeconfig file for the cluster and returns its path.
func (s *Server) Kubeconfig(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	cert := s.http.Certificate()
	config := map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []any{map[string]any{"name": "test", "cluster": map[string]any{
			"server": s.http.URL, "certificate-authority-data": pemOf(cert.Raw),
		}}},
		"users":    []any{map[string]any{"name": "arena", "user": map[string]any{"token": s.options.Token}}},
		"contexts": []any{map[string]any{"name": "test", "context": map[string]any{"cluster": "test", "user": "arena"}}},
	}
	data, err := json.Marshal(config) // JSON is YAML
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Inject makes something go wrong, before what was injected earlier.
func (s *Server) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append([]*Fault{&f}, s.faults...)
}

// Heal takes back every fault.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Requests returns the requests that were made.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Jobs returns the Jobs that there are.
func (s *Server) Jobs() []batch.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []batch.Job
	for _, j := range s.jobs {
		all = append(all, *j.DeepCopy())
	}
	slices.SortFunc(all, func(a, b batch.Job) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Created counts the Jobs that were ever made.
func (s *Server) Created() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created
}

// Edit changes a Job and its pod, as the cluster's own parts do.
func (s *Server) Edit(name string, change func(job *batch.Job, pod *core.Pod)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.pods[name]
	change(s.jobs[name], n.pod)
	n.over = n.over || n.pod.Status.Phase == core.PodFailed || n.pod.Status.Phase == core.PodSucceeded
	n.wake()
}

// Forget removes a Job and its pod at once, as its time to live does.
func (s *Server) Forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(name)
}

func (s *Server) forget(name string) {
	if n := s.pods[name]; n != nil {
		n.stop()
		n.over = true
		n.wake()
	}
	delete(s.pods, name)
	delete(s.jobs, name)
}

// serve answers one request, or lets something go wrong with it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f := s.fault(r, string(body))
	if f != nil && f.Before != nil {
		f.Before()
	}
	switch {
	case f == nil:
	case f.After != nil:
		held := httptest.NewRecorder()
		s.answer(held, r)
		f.After()
		maps.Copy(w.Header(), held.Header())
		w.WriteHeader(held.Code)
		_, _ = w.Write(held.Body.Bytes())
		return
	case f.Answer != nil:
		f.Answer(w, r)
		return
	case f.Hang:
		<-r.Context().Done()
		return
	case f.Lost:
		s.answer(mute{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case f.Before == nil:
		w = &cutWriter{ResponseWriter: w, left: f.Cut}
	}
	s.answer(w, r)
}

// verb names what a request asks for.
func verb(r *http.Request) string {
	_, rest, _ := strings.Cut(r.URL.Path, "/namespaces/")
	parts := strings.Split(rest, "/")
	switch {
	case strings.HasSuffix(r.URL.Path, "/log"):
		return "log"
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodDelete:
		return "delete"
	case len(parts) == 2:
		return "list"
	default:
		return "get"
	}
}

// fault notes a request and returns what is to go wrong with it.
func (s *Server) fault(r *http.Request, body string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{Method: r.Method, URL: r.URL.String(), Body: body, Header: r.Header.Clone()})
	for i, f := range s.faults {
		if f.Verb != "" && f.Verb != verb(r) {
			continue
		}
		if f.Times == 1 {
			s.faults = slices.Delete(slices.Clone(s.faults), i, i+1)
		}
		if f.Times > 0 {
			f.Times--
		}
		return f
	}
	return nil
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+s.options.Token {
		writeStatus(w, meta.Status{Code: http.StatusUnauthorized, Reason: meta.StatusReasonUnauthorized, Message: "Unauthorized"})
		return
	}
	mux := http.NewServeMux()
	const jobs, pods = "/apis/batch/v1/namespaces/{ns}/jobs", "/api/v1/namespaces/{ns}/pods"
	for pattern, handle := range map[string]http.HandlerFunc{
		"POST " + jobs:                s.create,
		"GET " + jobs:                 s.listJobs,
		"GET " + jobs + "/{name}":     s.get,
		"DELETE " + jobs + "/{name}":  s.remove,
		"GET " + pods:                 s.listPods,
		"GET " + pods + "/{name}/log": s.log,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if ns := r.PathValue("ns"); ns != s.options.Namespace && r.Method == http.MethodPost {
				writeStatus(w, notFound("", "namespaces", ns))
				return
			}
			handle(w, r)
		})
	}
	mux.ServeHTTP(w, r)
}

func notFound(group, kind, name string) meta.Status {
	full := kind
	if group != "" {
		full += "." + group
	}
	return meta.Status{
		Code: http.StatusNotFound, Reason: meta.StatusReasonNotFound, Message: fmt.Sprintf("%s %q not found", full, name),
		Details: &meta.StatusDetails{Name: name, Group: group, Kind: kind},
	}
}

func (s *Server) stamp() meta.Time { return meta.NewTime(s.options.Now().Truncate(time.Second)) }

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var job batch.Job
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&job); err != nil {
		writeStatus(w, meta.Status{Code: http.StatusBadRequest, Reason: meta.StatusReasonBadRequest, Message: "cannot be handled as a Job: " + err.Error()})
		return
	}
	if causes := invalid(&job); len(causes) > 0 {
		writeStatus(w, meta.Status{
			Code: http.StatusUnprocessableEntity, Reason: meta.StatusReasonInvalid,
			Message: fmt.Sprintf("Job.batch %q is invalid: %s: %s", job.Name, causes[0].Field, causes[0].Message),
			Details: &meta.StatusDetails{Name: job.Name, Group: "batch", Kind: "Job", Causes: causes},
		})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.jobs[job.Name]; old != nil {
		message := fmt.Sprintf("jobs.batch %q already exists", job.Name)
		if old.DeletionTimestamp != nil {
			message = "object is being deleted: " + message
		}
		writeStatus(w, meta.Status{
			Code: http.StatusConflict, Reason: meta.StatusReasonAlreadyExists, Message: message,
			Details: &meta.StatusDetails{Name: job.Name, Group: "batch", Kind: "jobs"},
		})
		return
	}
	s.version++
	at := s.stamp()
	job.UID, job.Namespace, job.CreationTimestamp = types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", s.version)), s.options.Namespace, at
	job.ResourceVersion = strconv.Itoa(s.version)
	job.Status.StartTime = &at
	s.jobs[job.Name] = &job
	s.created++
	s.makePod(&job)
	writeJSON(w, http.StatusCreated, job)
}

var envName = regexp.MustCompile(`^[-._a-zA-Z][-._a-zA-Z0-9]*$`)

// invalid lists what a real server's validation says about the parts that the
// provider sets.
func invalid(job *batch.Job) []meta.StatusCause {
	var causes []meta.StatusCause
	wrong := func(field string, messages ...string) {
		for _, m := range messages {
			causes = append(causes, meta.StatusCause{Type: meta.CauseTypeFieldValueInvalid, Field: field, Message: m})
		}
	}
	pod := job.Spec.Template.Spec
	wrong("metadata.name", validation.IsDNS1123Subdomain(job.Name)...)
	for key, value := range job.Labels {
		wrong("metadata.labels", validation.IsQualifiedName(key)...)
		wrong("metadata.labels", validation.IsValidLabelValue(value)...)
	}
	if pod.RestartPolicy != core.RestartPolicyNever && pod.RestartPolicy != core.RestartPolicyOnFailure {
		wrong("spec.template.spec.restartPolicy", "valid values: \"OnFailure\", \"Never\"")
	}
	if len(pod.Containers) == 0 {
		wrong("spec.template.spec.containers", "Required value")
	}
	for _, c := range pod.Containers {
		if c.Image == "" {
			wrong("spec.template.spec.containers[0].image", "Required value")
		}
		for _, e := range c.Env {
			if !envName.MatchString(e.Name) {
				wrong("spec.template.spec.containers[0].env", "a valid environment variable name must consist of …")
			}
		}
	}
	for name, seconds := range map[string]*int64{"spec.activeDeadlineSeconds": job.Spec.ActiveDeadlineSeconds, "spec.template.spec.activeDeadlineSeconds": pod.ActiveDeadlineSeconds} {
		if seconds != nil && *seconds < 1 {
			wrong(name, "must be greater than or equal to 1")
		}
	}
	return causes
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[r.PathValue("name")]
	if job == nil || r.PathValue("ns") != s.options.Namespace {
		writeStatus(w, notFound("batch", "jobs", r.PathValue("name")))
		return
	}
	writeJSON(w, http.StatusOK, typed(job))
}

// typed is a Job as an answer has it.
func typed(job *batch.Job) *batch.Job {
	job = job.DeepCopy()
	job.TypeMeta = meta.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	return job
}

// selected reads what a list asks for. The boolean is false when it was refused.
func selected(w http.ResponseWriter, r *http.Request) (labels.Selector, int, bool) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		writeStatus(w, meta.Status{Code: http.StatusBadRequest, Reason: meta.StatusReasonBadRequest, Message: err.Error()})
		return nil, 0, false
	}
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit <= 0 {
		limit = 1 << 30
	}
	return selector, limit, true
}

func (s *Server) listJobs(w http.ResponseWriter, r *http.Request) {
	selector, limit, ok := selected(w, r)
	if !ok {
		return
	}
	list := batch.JobList{TypeMeta: meta.TypeMeta{APIVersion: "batch/v1", Kind: "JobList"}}
	for _, j := range s.Jobs() {
		if selector.Matches(labels.Set(j.Labels)) && r.PathValue("ns") == s.options.Namespace {
			list.Items = append(list.Items, j)
		}
	}
	list.ListMeta = s.listMeta(len(list.Items) > limit)
	list.Items = list.Items[:min(len(list.Items), limit)]
	writeJSON(w, http.StatusOK, list)
}

func (s *Server) listMeta(more bool) meta.ListMeta {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := meta.ListMeta{ResourceVersion: strconv.Itoa(s.version + 1)}
	if more {
		m.Continue = "more"
	}
	return m
}

func (s *Server) listPods(w http.ResponseWriter, r *http.Request) {
	selector, limit, ok := selected(w, r)
	if !ok {
		return
	}
	list := core.PodList{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: s.listMeta(false)}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.pods {
		if selector.Matches(labels.Set(n.pod.Labels)) && len(list.Items) < limit {
			list.Items = append(list.Items, *n.pod.DeepCopy())
		}
	}
	writeJSON(w, http.StatusOK, list)
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	var options meta.DeleteOptions
	if err := json.NewDecoder(r.Body).Decode(&options); err != nil {
		writeStatus(w, meta.Status{Code: http.StatusBadRequest, Reason: meta.StatusReasonBadRequest, Message: err.Error()})
		return
	}
	name := r.PathValue("name")
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[name]
	switch {
	case job == nil:
		writeStatus(w, notFound("batch", "jobs", name))
		return
	case options.Preconditions != nil && options.Preconditions.UID != nil && *options.Preconditions.UID != job.UID:
		writeStatus(w, meta.Status{
			Code: http.StatusConflict, Reason: meta.StatusReasonConflict, Message: "Precondition failed: UID in precondition does not match",
			Details: &meta.StatusDetails{Name: name, Group: "batch", Kind: "jobs"},
		})
		return
	}
	if job.DeletionTimestamp == nil {
		job.DeletionTimestamp = new(s.stamp())
	}
	if options.PropagationPolicy != nil && *options.PropagationPolicy == meta.DeletePropagationForeground {
		job.Finalizers = []string{meta.FinalizerDeleteDependents}
	}
	answer := typed(job)
	n := s.pods[name]
	n.stop()
	if s.options.Program == nil || n.over || n.pod.Status.Phase == core.PodPending {
		s.forget(name) // nothing has to be waited for
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Server) log(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	var n *node
	for _, candidate := range s.pods {
		if candidate.pod.Name == r.PathValue("name") {
			n = candidate
		}
	}
	waits := n != nil && len(n.pod.Status.ContainerStatuses) > 0 && n.pod.Status.ContainerStatuses[0].State.Waiting != nil
	s.mu.Unlock()
	switch {
	case n == nil:
		writeStatus(w, notFound("", "pods", r.PathValue("name")))
		return
	case waits:
		writeStatus(w, meta.Status{
			Code: http.StatusBadRequest, Reason: meta.StatusReasonBadRequest,
			Message: fmt.Sprintf("container %q in pod %q is waiting to start: ContainerCreating", q.Get("container"), n.pod.Name),
		})
		return
	}
	var since time.Time
	if text := q.Get("sinceTime"); text != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			writeStatus(w, meta.Status{Code: http.StatusBadRequest, Reason: meta.StatusReasonBadRequest, Message: err.Error()})
			return
		}
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for sent := 0; ; {
		s.mu.Lock()
		fresh, over, changed := slices.Clone(n.lines[sent:]), n.over, n.changed
		s.mu.Unlock()
		for _, l := range fresh {
			sent++
			if l.at.Before(since.Truncate(time.Second)) {
				continue
			}
			_, _ = fmt.Fprintf(w, "%s %s\n", l.at.UTC().Format(time.RFC3339Nano), l.text)
		}
		_ = http.NewResponseController(w).Flush()
		if len(fresh) > 0 {
			continue
		}
		if over || q.Get("follow") != "true" {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
