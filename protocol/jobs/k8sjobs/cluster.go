package k8sjobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// callLimit bounds one call that is not a log, beside the caller's context.
	callLimit = 30 * time.Second
	// maxAnswer bounds the body of an answer that is not a log, in bytes.
	maxAnswer = 8 << 20
	// maxListed is how many items a list is asked for.
	maxListed = 100
)

// cluster is one namespace of an API server. It is a plain REST client with two
// groups of types, because nothing here needs the rest that the typed clientset
// brings with it.
type cluster struct {
	client    *rest.RESTClient
	namespace string
}

// idle closes the connections that are not in use.
func (c *cluster) idle() { utilnet.CloseIdleConnectionsFor(c.client.Client.Transport) }

// connect reads how to reach the API server. It does not reach for it.
func connect(o Options) (*cluster, error) {
	cfg, err := settings(o)
	if err != nil {
		return nil, err
	}
	if u, _, err := rest.DefaultServerUrlFor(cfg); err != nil {
		return nil, fmt.Errorf("the address of the API server: %w", err)
	} else if u.Scheme != "https" && !loopback(u) {
		return nil, errors.New("the API server's address must start with https://, because a token is sent to it")
	}
	types := runtime.NewScheme()
	meta.AddToGroupVersion(types, schema.GroupVersion{Version: "v1"})
	if err := errors.Join(batch.AddToScheme(types), core.AddToScheme(types)); err != nil {
		return nil, err
	}
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(types).WithoutConversion()
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	cfg.UserAgent = "posttrainarena"
	cfg.QPS = -1 // one run at a time; the server protects itself and says so with 429
	cfg.Timeout = 0
	cfg.WarningHandler = rest.NoWarnings{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return nil, err
	}
	// The transport puts the token on whatever it sends, so it must not follow a
	// redirect: an API server sends none.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client, err := rest.UnversionedRESTClientForConfigAndClient(cfg, &http.Client{Transport: transport, CheckRedirect: stay})
	if err != nil {
		return nil, err
	}
	return &cluster{client: client, namespace: o.Namespace}, nil
}

// settings reads the kubeconfig, or the service account of the pod that the arena
// runs in when none is configured.
func settings(o Options) (*rest.Config, error) {
	if o.Kubeconfig == "" {
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("no kubeconfig is configured (providers.kubernetes.kubeconfig), and this is no pod with a service account: %w", err)
		}
		return cfg, nil
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: o.Kubeconfig}, &clientcmd.ConfigOverrides{CurrentContext: o.Context},
	).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig (providers.kubernetes.kubeconfig): %w", err)
	}
	return cfg, nil
}

func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// bounded cuts off answers that are too large. Logs are bounded by their reader.
type bounded struct{ next http.RoundTripper }

// WrappedRoundTripper returns what it wraps, by the name that the client library
// looks for to close idle connections.
func (b bounded) WrappedRoundTripper() http.RoundTripper { return b.next }

// RoundTrip sends a request.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil && (resp.StatusCode >= 300 || !strings.HasSuffix(r.URL.Path, "/log")) {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxAnswer}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

var errTooLarge = fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)

// Read reads, and fails once more was read than an answer may have.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return n, errTooLarge
	}
	return n, err
}

// request starts a request for jobs or pods of the namespace. Nothing is tried
// again here: what may be is for the arena to decide.
func (c *cluster) request(verb string, path ...string) *rest.Request {
	return c.client.Verb(verb).AbsPath(path...).MaxRetries(0)
}

func (c *cluster) jobs(verb string, rest ...string) *rest.Request {
	return c.request(verb, append([]string{"/apis/batch/v1/namespaces", c.namespace, "jobs"}, rest...)...)
}

func (c *cluster) pods(verb string, rest ...string) *rest.Request {
	return c.request(verb, append([]string{"/api/v1/namespaces", c.namespace, "pods"}, rest...)...)
}

// do makes a call and returns what it answers, which is of an API server's own
// types or the call has failed. The boolean says that the request was written, so
// that the server may have acted on it.
func do(ctx context.Context, r *rest.Request) (answer runtime.Object, sent bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	var wrote atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	answer, err = r.Do(ctx).Get()
	return answer, wrote.Load(), err
}

// create creates a Job and returns it as the server has it.
func (c *cluster) create(ctx context.Context, job *batch.Job) (*batch.Job, error) {
	answer, sent, err := do(ctx, c.jobs(http.MethodPost).Body(job))
	created, ok := answer.(*batch.Job)
	if err == nil && (!ok || created.UID == "" || created.Name != job.Name) {
		err = errNotTheirs
	}
	return created, outcome(creates, sent, err)
}

// job returns a Job by its name; nil when the server says that there is none.
func (c *cluster) job(ctx context.Context, name string) (*batch.Job, error) {
	answer, sent, err := do(ctx, c.jobs(http.MethodGet, name))
	if notFound(err, name) {
		return nil, nil
	}
	job, ok := answer.(*batch.Job)
	if err == nil && (!ok || job.UID == "" || job.Name != name) {
		err = errNotTheirs
	}
	return job, outcome(reads, sent, err)
}

// listJobs returns at most some Jobs, those with a label when one is given.
func (c *cluster) listJobs(ctx context.Context, selector string, limit int) ([]batch.Job, error) {
	r := c.jobs(http.MethodGet).Param("limit", strconv.Itoa(limit))
	if selector != "" {
		r = r.Param("labelSelector", selector)
	}
	answer, sent, err := do(ctx, r)
	list, ok := answer.(*batch.JobList)
	if err == nil && (!ok || list.ResourceVersion == "") {
		err = errNotTheirs
	}
	if err != nil {
		return nil, outcome(reads, sent, err)
	}
	return list.Items, nil
}

// pod returns the newest pod of a Job, nil when it has none.
func (c *cluster) pod(ctx context.Context, job *batch.Job) (*core.Pod, error) {
	answer, sent, err := do(ctx, c.pods(http.MethodGet).Param("labelSelector", labelRun+"="+job.Labels[labelRun]).Param("limit", strconv.Itoa(maxListed)))
	list, ok := answer.(*core.PodList)
	if err == nil && (!ok || list.ResourceVersion == "") {
		err = errNotTheirs
	}
	if err != nil {
		return nil, outcome(reads, sent, err)
	}
	var newest *core.Pod
	for i := range list.Items {
		p := &list.Items[i]
		owner := meta.GetControllerOf(p)
		if owner == nil || owner.UID != job.UID {
			continue
		}
		if newest == nil || newest.CreationTimestamp.Before(&p.CreationTimestamp) {
			newest = p
		}
	}
	return newest, nil
}

// remove deletes a Job, and its pods before it. The cluster has taken the request
// when it returns nil; the Job is gone when its pods are.
func (c *cluster) remove(ctx context.Context, job *batch.Job) error {
	foreground := meta.DeletePropagationForeground
	answer, sent, err := do(ctx, c.jobs(http.MethodDelete, job.Name).Body(&meta.DeleteOptions{
		TypeMeta:          meta.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     &meta.Preconditions{UID: &job.UID},
		PropagationPolicy: &foreground,
	}))
	if notFound(err, job.Name) {
		return nil
	}
	if err == nil {
		switch answer.(type) {
		case *batch.Job, *meta.Status: // which, depends on the server's version
		default:
			err = errNotTheirs
		}
	}
	return outcome(deletes, sent, err)
}

// log opens the log of a pod's container.
func (c *cluster) log(ctx context.Context, pod string, since time.Time, follow bool) (io.ReadCloser, error) {
	r := c.pods(http.MethodGet, pod, "log").Param("container", container).Param("timestamps", "true")
	if follow {
		r = r.Param("follow", "true")
	}
	if !since.IsZero() {
		r = r.Param("sinceTime", since.UTC().Format(time.RFC3339))
	}
	return r.Stream(ctx)
}
