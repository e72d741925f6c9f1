package k8sjobs_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/k8sjobs"
)

// control is a real API server on etcd, without controllers and nodes, which the
// test plays.
type control struct {
	t      *testing.T
	url    string
	dir    string
	client *http.Client
	ended  []chan struct{} // closed when a program has ended
}

// The tokens of the real API server.
const (
	adminToken    = "admin-of-the-test"
	strangerToken = "somebody-without-rights"
)

// startControl starts etcd and kube-apiserver, where they are installed.
func startControl(t *testing.T) *control {
	t.Helper()
	if testing.Short() {
		t.Skip("starts an API server")
	}
	for _, program := range []string{"etcd", "kube-apiserver"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s on PATH: the fake of the API stands in", program)
		}
	}
	dir := t.TempDir()
	store, peers, port := freePort(t), freePort(t), freePort(t)
	c := &control{t: t, dir: dir, url: "https://127.0.0.1:" + port, client: &http.Client{}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	c.must(err)
	der, err := x509.MarshalECPrivateKey(key)
	c.must(err)
	c.must(os.WriteFile(filepath.Join(dir, "sa.key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
	c.must(os.WriteFile(filepath.Join(dir, "tokens"), []byte(adminToken+",admin,admin,system:masters\n"+canary+",arena,arena\n"+strangerToken+",stranger,stranger\n"), 0o600))
	c.run("etcd", "--data-dir", filepath.Join(dir, "etcd"), "--listen-client-urls", "http://127.0.0.1:"+store, "--advertise-client-urls", "http://127.0.0.1:"+store,
		"--listen-peer-urls", "http://127.0.0.1:"+peers, "--initial-advertise-peer-urls", "http://127.0.0.1:"+peers, "--initial-cluster", "default=http://127.0.0.1:"+peers)
	c.run("kube-apiserver", "--etcd-servers", "http://127.0.0.1:"+store, "--bind-address", "127.0.0.1", "--secure-port", port, "--cert-dir", filepath.Join(dir, "certs"),
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", filepath.Join(dir, "sa.key"), "--service-account-signing-key-file", filepath.Join(dir, "sa.key"),
		"--token-auth-file", filepath.Join(dir, "tokens"), "--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24",
		"--disable-admission-plugins", "ServiceAccount", "--kubelet-preferred-address-types", "InternalIP", "--allow-privileged=false")
	for n := 0; ; n++ {
		if cert, err := os.ReadFile(filepath.Join(dir, "certs", "apiserver.crt")); err == nil {
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(cert)
			transport := http.DefaultTransport.(*http.Transport).Clone()
			transport.TLSClientConfig.RootCAs = pool
			c.client.Transport = transport
			if code, _ := c.try(http.MethodGet, "/readyz", nil); code == http.StatusOK {
				t.Cleanup(transport.CloseIdleConnections)
				return c
			}
			transport.CloseIdleConnections()
		}
		over := false
		for _, ended := range c.ended {
			select {
			case <-ended:
				over = true
			default:
			}
		}
		if over || n == 600 {
			log, _ := os.ReadFile(filepath.Join(dir, "kube-apiserver.log"))
			t.Fatalf("the API server does not become ready:\n%s", log)
		}
		time.Sleep(200 * time.Millisecond) // a real process
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func (c *control) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// run runs a program until the test ends.
func (c *control) run(program string, args ...string) {
	c.t.Helper()
	log, err := os.Create(filepath.Join(c.dir, program+".log"))
	c.must(err)
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, os.Environ()
	c.must(cmd.Start())
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		_ = log.Close()
		close(done)
	}()
	c.ended = append(c.ended, done)
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
}

// try asks the API server as its administrator.
func (c *control) try(method, path string, body any) (int, []byte) {
	c.t.Helper()
	data, err := json.Marshal(body)
	c.must(err)
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, bytes.NewReader(data))
	c.must(err)
	r.Header.Set("Authorization", "Bearer "+adminToken)
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	c.must(err)
	return resp.StatusCode, answer
}

// do asks the API server as its administrator for what it must do.
func (c *control) do(method, path string, body any) {
	c.t.Helper()
	if code, answer := c.try(method, path, body); code >= 300 {
		c.t.Fatalf("%s %s: %d %s", method, path, code, answer)
	}
}

// kubeconfig writes the kubeconfig of somebody.
func (c *control) kubeconfig(token string) string {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), "kubeconfig")
	c.must(os.WriteFile(path, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"x",
		"clusters":[{"name":"x","cluster":{"server":%q,"certificate-authority":%q}}],
		"users":[{"name":"x","user":{"token":%q}}],"contexts":[{"name":"x","context":{"cluster":"x","user":"x"}}]}`,
		c.url, filepath.Join(c.dir, "certs", "apiserver.crt"), token), 0o600))
	return path
}

// kubelet is a node's server of logs. It notes what it is asked for.
func (c *control) kubelet(asked *[]url.Values) {
	c.t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.Query())
		for i, text := range []string{"one", "two", "three"} {
			_, _ = fmt.Fprintf(w, "2026-11-29T12:00:0%d.000000001Z %s\n", i, text)
		}
	}))
	c.t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	c.must(err)
	c.do(http.MethodPost, "/api/v1/nodes", map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "node"}})
	var port int
	_, err = fmt.Sscan(u.Port(), &port)
	c.must(err)
	c.do(http.MethodPatch, "/api/v1/nodes/node/status", map[string]any{"status": map[string]any{
		"addresses":       []any{map[string]any{"type": "InternalIP", "address": u.Hostname()}},
		"daemonEndpoints": map[string]any{"kubeletEndpoint": map[string]any{"Port": port}},
	}})
}

// TestRealServer plays a job against a real API server: what it validates, refuses,
// answers twice and deletes is its own word. The account has just the rights that the
// documentation names.
func TestRealServer(t *testing.T) {
	c := startControl(t)
	const ns = "/api/v1/namespaces/arena"
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/arena"
	rule := func(group, resource string, verbs ...string) map[string]any {
		return map[string]any{"apiGroups": []string{group}, "resources": []string{resource}, "verbs": verbs}
	}
	c.do(http.MethodPost, "/api/v1/namespaces", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": "arena", "labels": map[string]any{"pod-security.kubernetes.io/enforce": "restricted"},
	}})
	c.do(http.MethodPost, rbac+"/roles", map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]any{"name": "arena"}, "rules": []any{
		rule("batch", "jobs", "create", "get", "list", "delete"), rule("", "pods", "list"), rule("", "pods/log", "get"),
	}})
	c.do(http.MethodPost, rbac+"/rolebindings", map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": "arena"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "arena"},
		"subjects": []any{map[string]any{"kind": "User", "name": "arena"}},
	})
	var asked []url.Values
	c.kubelet(&asked)

	w := begin(t) // its cluster is not used, its options are
	options := w.options
	options.Kubeconfig = c.kubeconfig(canary)
	open := func(change func(*k8sjobs.Options)) *k8sjobs.Provider {
		o := options
		change(&o)
		p, err := k8sjobs.Open(o)
		c.must(err)
		t.Cleanup(p.Close)
		return p
	}
	p := open(func(*k8sjobs.Options) {})
	ctx := t.Context()
	if _, err := p.Hardware(ctx); err != nil {
		t.Fatal(err)
	}
	// Refusals.
	bad := short(run)
	bad.Env = map[string]string{"not a name\x00": "1"}
	for what, start := range map[string]func() error{
		"invalid": func() error { _, err := p.Start(ctx, bad); return err },
	} {
		if err := start(); !errors.Is(err, jobs.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, other := range map[string]*k8sjobs.Provider{
		"403": open(func(o *k8sjobs.Options) { o.Kubeconfig = c.kubeconfig(strangerToken) }),
		"401": open(func(o *k8sjobs.Options) { o.Kubeconfig = c.kubeconfig("nobody") }),
		"404": open(func(o *k8sjobs.Options) { o.Namespace, o.Kubeconfig = "nowhere", c.kubeconfig(adminToken) }),
	} {
		_, err := other.Start(ctx, short(run))
		if err == nil || !strings.Contains(err.Error(), what) || errors.Is(err, jobs.ErrUnknown) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if found, err := p.Find(ctx, run); err != nil || len(found) != 0 {
		t.Fatalf("after refusals: %v, %v", found, err)
	}
	// Once, and once more.
	spec := short(run)
	spec.Flavor = "a100x8"
	job, err := p.Start(ctx, spec)
	c.must(err)
	again, err := p.Start(ctx, spec)
	if err != nil || again.ID != job.ID || !again.CreatedAt.Equal(job.CreatedAt) {
		t.Fatalf("again: %+v, %v; want %+v", again, err, job)
	}
	second := options
	second.Dir = t.TempDir() // an arena that has lost its directory finds it all the same
	found, err := open(func(o *k8sjobs.Options) { *o = second }).Find(ctx, run)
	if err != nil || len(found) != 1 || found[0].ID != job.ID {
		t.Fatalf("found %+v, %v", found, err)
	}
	if _, err := p.Inspect(ctx, "ffffffffffffffffffffffff"); !errors.Is(err, jobs.ErrNoJob) {
		t.Errorf("an unknown job: %v", err)
	}
	// A pod, as the controller makes it and a node runs it.
	path := "/apis/batch/v1/namespaces/arena/jobs/" + job.ID
	pod := func(jobPath, name string) {
		_, data := c.try(http.MethodGet, jobPath, nil)
		var made batch.Job
		c.must(json.Unmarshal(data, &made))
		body := core.Pod{
			TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: meta.ObjectMeta{Name: name, Labels: made.Spec.Template.Labels, OwnerReferences: []meta.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: made.Name, UID: made.UID, Controller: new(true), BlockOwnerDeletion: new(true),
			}}},
			Spec: made.Spec.Template.Spec,
		}
		body.Spec.NodeName = "node"
		c.do(http.MethodPost, ns+"/pods", body)
	}
	pod(path, "the-pod")
	began, ended := at(0), at(65)
	c.do(http.MethodPatch, ns+"/pods/the-pod/status", map[string]any{"status": map[string]any{
		"phase": "Running", "startTime": began, "containerStatuses": []any{map[string]any{
			"name": "run", "image": "x", "imageID": "x", "ready": true, "restartCount": 0, "state": map[string]any{"running": map[string]any{"startedAt": began}},
		}},
	}})
	if job, err = p.Inspect(ctx, job.ID); err != nil || job.Status != jobs.Running {
		t.Fatalf("%+v, %v", job, err)
	}
	// Its log comes from the node through the API server.
	short, cancel := context.WithCancel(ctx)
	var lines []jobs.Line
	for line, err := range p.Logs(short, job.ID, 0) {
		c.must(err)
		if lines = append(lines, line); len(lines) == 3 {
			cancel()
		}
	}
	cancel()
	if got := fmt.Sprint(texts(lines)); got != "[one two three]" || len(asked) == 0 || asked[0].Get("follow") != "true" || asked[0].Get("timestamps") != "true" {
		t.Fatalf("the log is %s; the node was asked %v", got, asked)
	}
	// It ends, and the log is read on.
	c.do(http.MethodPatch, ns+"/pods/the-pod/status", map[string]any{"status": map[string]any{
		"phase": "Succeeded", "containerStatuses": []any{map[string]any{
			"name": "run", "image": "x", "imageID": "x", "restartCount": 0,
			"state": map[string]any{"running": nil, "terminated": map[string]any{"exitCode": 0, "reason": "Completed", "startedAt": began, "finishedAt": ended}},
		}},
	}})
	now := meta.Now()
	condition := func(kind string) map[string]any {
		return map[string]any{"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now, "reason": "CompletionsReached"}
	}
	c.do(http.MethodPatch, path+"/status", map[string]any{"status": map[string]any{"startTime": job.CreatedAt, "succeeded": 1, "uncountedTerminatedPods": map[string]any{}}})
	c.do(http.MethodPatch, path+"/status", map[string]any{"status": map[string]any{
		"completionTime": now, "conditions": []any{condition("SuccessCriteriaMet"), condition("Complete")},
	}})
	var rest []jobs.Line
	for line, err := range p.Logs(ctx, job.ID, lines[1].Position) {
		c.must(err)
		rest = append(rest, line)
	}
	if fmt.Sprint(texts(rest)) != "[three]" || asked[len(asked)-1].Get("sinceTime") == "" {
		t.Errorf("read on: %q; the node was asked %v", texts(rest), asked[len(asked)-1])
	}
	if job, err = p.Inspect(ctx, job.ID); err != nil || job.Status != jobs.Completed || job.Billed != 65*time.Second {
		t.Errorf("%+v, %v", job, err)
	}
	// Another is canceled: the server keeps it until its pods are gone.
	const other = "canceled-0123456789ab"
	job, err = p.Start(ctx, long(other))
	c.must(err)
	path = "/apis/batch/v1/namespaces/arena/jobs/" + job.ID
	for range 2 {
		c.must(p.Cancel(ctx, job.ID))
	}
	_, data := c.try(http.MethodGet, path, nil)
	var made batch.Job
	c.must(json.Unmarshal(data, &made))
	if made.DeletionTimestamp == nil || len(made.Finalizers) != 1 || made.Finalizers[0] != meta.FinalizerDeleteDependents {
		t.Fatalf("it is deleted as %+v", made.ObjectMeta)
	}
	if again, err := p.Start(ctx, long(other)); err != nil || again.ID != job.ID || again.Status.Ended() {
		t.Errorf("the same launch while it is deleted: %+v, %v", again, err)
	}
	c.do(http.MethodPatch, path, map[string]any{"metadata": map[string]any{"finalizers": nil}}) // as the garbage collector does
	if job, err = p.Inspect(ctx, job.ID); err != nil || job.Status != jobs.Canceled || job.Billed != 0 {
		t.Errorf("canceled: %+v, %v", job, err)
	}
}
