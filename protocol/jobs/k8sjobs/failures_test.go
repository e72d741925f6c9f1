package k8sjobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/k8sjobs"
	"github.com/posttrainarena/arena/protocol/jobs/k8sjobs/k8stest"
)

// failure is something that goes wrong with a request, and what the provider says.
type failure struct {
	fault k8stest.Fault
	class error
	says  string
	made  bool // the Job exists in spite of it
}

// failures are what can happen to the creation of a Job.
func failures() map[string]failure {
	status := k8stest.Refuse
	page := func(code int) k8stest.Fault { return k8stest.Fault{Answer: k8stest.Page(code)} }
	said := func(code int, reason string) k8stest.Fault {
		return k8stest.Fault{Answer: status(code, meta.StatusReason(reason), "the cluster says so")}
	}
	return map[string]failure{
		"400":                     {said(400, "BadRequest"), jobs.ErrRefused, "400 Bad Request: the cluster says so", false},
		"401":                     {said(401, "Unauthorized"), jobs.ErrRefused, "check the credentials in the kubeconfig", false},
		"403":                     {said(403, "Forbidden"), jobs.ErrRefused, "needs create, get, list and delete on jobs.batch", false},
		"404 namespace":           {said(404, "NotFound"), jobs.ErrRefused, "404 Not Found: the cluster says so", false},
		"413":                     {said(413, "RequestEntityTooLarge"), jobs.ErrRefused, "413", false},
		"422":                     {said(422, "Invalid"), jobs.ErrRefused, "422 Unprocessable Entity", false},
		"409 conflict":            {said(409, "Conflict"), jobs.ErrUnreachable, "409 Conflict", false},
		"429":                     {k8stest.Fault{Answer: k8stest.Throttle(7)}, jobs.ErrUnreachable, "asks to wait 7 s", false},
		"408":                     {said(408, "Timeout"), jobs.ErrUnknown, "408", false},
		"500":                     {said(500, "InternalError"), jobs.ErrUnknown, "500 Internal Server Error: the cluster says so", false},
		"503":                     {said(503, "ServiceUnavailable"), jobs.ErrUnknown, "503", false},
		"504":                     {said(504, "Timeout"), jobs.ErrUnknown, "504", false},
		"403 of a proxy":          {page(403), jobs.ErrUnknown, "a proxy may be in the way", false},
		"404 of a proxy":          {page(404), jobs.ErrUnknown, "a proxy may be in the way", false},
		"502 of a proxy":          {page(502), jobs.ErrUnknown, "a proxy may be in the way", false},
		"200 of a proxy":          {page(200), jobs.ErrUnknown, "", false},
		"an empty object":         {k8stest.Fault{Answer: k8stest.JSON(`{}`)}, jobs.ErrUnknown, "", false},
		"an answer of other type": {k8stest.Fault{Answer: k8stest.JSON(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","uid":"y"}}`)}, jobs.ErrUnknown, "not a Kubernetes API server", false},
		"an answer without end":   {k8stest.Fault{Answer: k8stest.Endless()}, jobs.ErrUnknown, "larger than 8 MiB", false},
		"deep nesting":            {k8stest.Fault{Answer: k8stest.JSON(strings.Repeat("[", 1<<20))}, jobs.ErrUnknown, "", false},
		"a cut answer":            {k8stest.Fault{Cut: 40}, jobs.ErrUnknown, "", true},
		"a lost answer":           {k8stest.Fault{Lost: true}, jobs.ErrUnknown, "", true},
		"no answer":               {k8stest.Fault{Hang: true}, jobs.ErrUnknown, "context deadline exceeded", false},
	}
}

// TestStartFails shows for everything that can happen to the creation of a Job what
// the provider makes of it, and that the same launch, tried again as the arena does,
// ends with exactly one Job.
func TestStartFails(t *testing.T) {
	for what, f := range failures() {
		t.Run(what, func(t *testing.T) {
			w := begin(t)
			f.fault.Verb, f.fault.Times = "create", 1
			w.Inject(f.fault)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if f.fault.Hang {
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
			}
			_, err := w.provider.Start(ctx, long(run))
			if !errors.Is(err, f.class) || !strings.Contains(err.Error(), f.says) || strings.Contains(err.Error(), canary) {
				t.Errorf("Start: %v; want %v that says %q", err, f.class, f.says)
			}
			if n := len(w.Jobs()); n != 0 != f.made {
				t.Errorf("%d Jobs exist", n)
			}
			if _, err := os.Stat(filepath.Join(w.dir, name)); errors.Is(f.class, jobs.ErrRefused) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a refused job has left its directory: %v", err)
			}
			found, err := w.provider.Find(t.Context(), run)
			if err != nil || len(found) != 0 != f.made {
				t.Fatalf("Find: %v, %v", found, err)
			}
			again, err := w.provider.Start(t.Context(), long(run))
			if err != nil || again.ID != name || again.Run != run {
				t.Fatalf("Start again: %+v, %v", again, err)
			}
			if n := len(w.Jobs()); n != 1 {
				t.Errorf("%d Jobs exist after the second try", n)
			}
		})
	}
}

// TestStartMeetsItsJobUnseen: the Job is there and cannot be looked at, which is not
// the same as that nothing was started.
func TestStartMeetsItsJobUnseen(t *testing.T) {
	w := begin(t)
	if _, err := w.provider.Start(t.Context(), long(run)); err != nil {
		t.Fatal(err)
	}
	w.Inject(k8stest.Fault{Verb: "get", Answer: k8stest.Page(502)})
	w.Inject(k8stest.Fault{Verb: "get", Times: 1, Answer: func(rw http.ResponseWriter, _ *http.Request) { // it is not listed yet
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":%q}}`, name)
	}})
	if _, err := w.provider.Start(t.Context(), long(run)); !errors.Is(err, jobs.ErrUnknown) || errors.Is(err, jobs.ErrUnreachable) {
		t.Errorf("Start: %v; want ErrUnknown", err)
	}
	w.Heal()
	if again, err := w.provider.Start(t.Context(), long(run)); err != nil || again.ID != name || len(w.Jobs()) != 1 {
		t.Errorf("Start again: %+v, %v, %d Jobs", again, err, len(w.Jobs()))
	}
}

// readFailures are the same and more for calls that only read: none proves that a
// job is not there.
func readFailures() map[string]k8stest.Fault {
	all := map[string]k8stest.Fault{
		"404 that names nothing": {Answer: k8stest.Refuse(404, "NotFound", "the server could not find the requested resource")},
		"an empty list of a stranger": {Answer: k8stest.JSON(
			`{"kind":"JobList","apiVersion":"batch/v1","metadata":{},"items":[]}`)},
		"a redirect": {Answer: k8stest.Redirect("/elsewhere")},
	}
	for what, f := range failures() {
		all[what] = f.fault
	}
	return all
}

// TestReadsFail: whatever goes wrong while the arena only reads, it does not take
// for proof that there is no job.
func TestReadsFail(t *testing.T) {
	for what, f := range readFailures() {
		t.Run(what, func(t *testing.T) {
			w := begin(t)
			if _, err := w.provider.Start(t.Context(), long(run)); err != nil {
				t.Fatal(err)
			}
			for _, verb := range []string{"get", "list"} {
				f.Verb, f.Times = verb, 0
				w.Heal()
				w.Inject(f)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				if f.Hang {
					ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
				}
				_, find := w.provider.Find(ctx, run)
				_, inspect := w.provider.Inspect(ctx, name)
				_, hardware := w.provider.Hardware(ctx)
				cancel()
				for call, err := range map[string]error{"Find": find, "Inspect": inspect, "Hardware": hardware} {
					if call == "Hardware" && verb == "get" {
						continue // it does not get
					}
					if !errors.Is(err, jobs.ErrUnreachable) || errors.Is(err, jobs.ErrNoJob) || strings.Contains(err.Error(), canary) {
						t.Errorf("%s while every %s fails: %v; want ErrUnreachable", call, verb, err)
					}
				}
			}
		})
	}
}

// TestCancelFails: a cancel that did not arrive is tried again until it does, and
// the job is canceled once.
func TestCancelFails(t *testing.T) {
	for what, f := range failures() {
		t.Run(what, func(t *testing.T) {
			w := begin(t)
			if _, err := w.provider.Start(t.Context(), long(run)); err != nil {
				t.Fatal(err)
			}
			f.fault.Verb, f.fault.Times = "delete", 1
			w.Inject(f.fault)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if f.fault.Hang {
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
			}
			err := w.provider.Cancel(ctx, name)
			want := f.class
			if errors.Is(want, jobs.ErrRefused) {
				want = jobs.ErrUnreachable // the job goes on
			}
			if !errors.Is(err, want) || strings.Contains(err.Error(), canary) {
				t.Errorf("Cancel: %v; want %v", err, want)
			}
			if err := w.provider.Cancel(t.Context(), name); err != nil {
				t.Fatalf("Cancel again: %v", err)
			}
			if job := w.ended(t); job.Status != jobs.Canceled {
				t.Errorf("ended as %+v", job)
			}
		})
	}
}

// ended reads a job's log to its end and returns how it ended.
func (w *world) ended(t testing.TB) jobs.Job {
	t.Helper()
	for _, err := range w.provider.Logs(t.Context(), name, 0) {
		if err != nil {
			t.Fatal(err)
		}
	}
	job, err := w.provider.Inspect(t.Context(), name)
	if err != nil || !job.Status.Ended() {
		t.Fatalf("a job whose log has ended is %+v, %v", job, err)
	}
	return job
}

// TestRedirectKeepsTheToken: the token goes to the API server and to nobody that it,
// or something in front of it, points to.
func TestRedirectKeepsTheToken(t *testing.T) {
	seen := make(chan string, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Get("Authorization") }))
	defer elsewhere.Close()
	w := begin(t)
	w.Inject(k8stest.Fault{Answer: k8stest.Redirect(elsewhere.URL)})
	if _, err := w.provider.Find(t.Context(), run); !errors.Is(err, jobs.ErrUnreachable) {
		t.Errorf("Find: %v", err)
	}
	w.Heal()
	w.Inject(k8stest.Fault{Verb: "create", Answer: k8stest.Redirect(elsewhere.URL)})
	if _, err := w.provider.Start(t.Context(), short(run)); !errors.Is(err, jobs.ErrUnknown) {
		t.Errorf("Start: %v", err)
	}
	select {
	case header := <-seen:
		t.Errorf("somebody else was asked, with the header %q", header)
	default:
	}
}

// TestTokenStaysSecret looks for the token in whatever the provider says and leaves:
// errors, its log and the client library's, manifests, addresses and files.
func TestTokenStaysSecret(t *testing.T) {
	var said bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&said)
	defer klog.LogToStderr(true)
	w := begin(t)
	for _, f := range readFailures() {
		for _, verb := range []string{"create", "get", "list", "delete", "log"} {
			f.Verb, f.Times = verb, 1
			w.Inject(f)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if f.Hang {
				ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
			}
			_, err := w.provider.Start(ctx, short(run))
			fmt.Fprintln(&said, err)
			_, err = w.provider.Find(ctx, run)
			fmt.Fprintln(&said, err)
			for line, err := range w.provider.Logs(ctx, name, 0) {
				fmt.Fprintln(&said, line, err)
			}
			fmt.Fprintln(&said, w.provider.Cancel(ctx, name))
			cancel()
			w.Heal()
		}
	}
	w.Server.Close()
	_, err := w.provider.Find(t.Context(), run)
	fmt.Fprintln(&said, err)
	klog.Flush()
	for _, r := range w.Requests() {
		if r.Header.Get("Authorization") != "Bearer "+canary {
			t.Fatalf("a request does not have the token: %s %s", r.Method, r.URL)
		}
		fmt.Fprintln(&said, r.URL, r.Body)
	}
	err = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			said.Write(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if said.Len() < 10_000 || strings.Contains(said.String(), canary) {
		t.Errorf("the token was said, or little was: %d bytes", said.Len())
	}
}

// TestOpenRefuses lists what keeps a provider from being opened.
func TestOpenRefuses(t *testing.T) {
	w := begin(t)
	cleartext := filepath.Join(t.TempDir(), "kubeconfig")
	config := `{"apiVersion":"v1","kind":"Config","current-context":"x","clusters":[{"name":"x","cluster":{"server":"http://cluster.example.org"}}],
		"users":[{"name":"x","user":{"token":"` + canary + `"}}],"contexts":[{"name":"x","context":{"cluster":"x","user":"x"}}]}`
	if err := os.WriteFile(cleartext, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func(*k8sjobs.Options){
		"providers.kubernetes.image":                                     func(o *k8sjobs.Options) { o.Image = "" },
		"providers.kubernetes.command":                                   func(o *k8sjobs.Options) { o.Command = nil },
		"providers.kubernetes.volume_claim":                              func(o *k8sjobs.Options) { o.VolumeClaim = "" },
		"providers.kubernetes.directory must be a directory that exists": func(o *k8sjobs.Options) { o.Dir += "/not-mounted" },
		"no such file":                          func(o *k8sjobs.Options) { o.Kubeconfig = "/no/such/kubeconfig" },
		`context "prod" does not exist`:         func(o *k8sjobs.Options) { o.Context = "prod" },
		"this is no pod with a service account": func(o *k8sjobs.Options) { o.Kubeconfig = "" },
		"must start with https://":              func(o *k8sjobs.Options) { o.Kubeconfig = cleartext },
		`the flavor small: memory is "lots" and must be a quantity such as`: func(o *k8sjobs.Options) { o.Flavors[0].Memory = "lots" },
	} {
		o := w.options
		o.Flavors = append([]k8sjobs.Flavor(nil), o.Flavors...)
		change(&o)
		if _, err := k8sjobs.Open(o); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), canary) {
			t.Errorf("Open: %v; want %q", err, says)
		}
	}
}
