package k8sjobs

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// effect is what a call does when it happens.
type effect int

const (
	reads effect = iota
	creates
	deletes
)

// errNotTheirs is an answer with status 200 that an API server does not give.
var errNotTheirs = errors.New("what answered is not a Kubernetes API server: the answer lacks what every one of its answers has")

// outcome says in the words of package jobs what a failed call means. sent says
// that the request was written. nil stays nil.
func outcome(e effect, sent bool, err error) error {
	if err == nil {
		return nil
	}
	if e == reads || !sent {
		return unreachable(err)
	}
	status, genuine := statusOf(err)
	switch {
	case !genuine:
	case status.Code == http.StatusTooManyRequests, status.Code == http.StatusConflict:
		return unreachable(err)
	case definite(status.Code) && e == creates:
		return fmt.Errorf("%w: %w", jobs.ErrRefused, explain(err))
	case definite(status.Code):
		return unreachable(err)
	}
	return fmt.Errorf("%w: %w", jobs.ErrUnknown, explain(err))
}

// unreachable says that a call had no effect, and for how long the API server asks
// to be left alone.
func unreachable(err error) error {
	explained := explain(err)
	if s, genuine := statusOf(err); genuine && s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		wait := time.Duration(s.Details.RetryAfterSeconds) * time.Second
		explained = protocol.ErrProviderAway.Detailf("The cluster is busy and asks to wait %s.", wait).After(wait).Because(explained)
	}
	return fmt.Errorf("%w: %w", jobs.ErrUnreachable, explained)
}

// definite reports whether the API server answers a request that had no effect
// with a code, and does so again when the request is repeated as it is.
func definite(code int32) bool {
	switch code {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusNotAcceptable, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// statusOf returns the status in an error. The boolean says that the API server
// itself has sent it, and not a proxy on the way.
func statusOf(err error) (meta.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return meta.Status{}, false
	}
	s := status.Status()
	return s, s.Code >= 400 && !apierrors.IsUnexpectedServerError(err) && !hasCause(s, meta.CauseTypeUnexpectedServerResponse)
}

func hasCause(s meta.Status, cause meta.CauseType) bool {
	if s.Details == nil {
		return false
	}
	for _, c := range s.Details.Causes {
		if c.Type == cause {
			return true
		}
	}
	return false
}

// notFound reports whether the API server has said that there is no such object:
// it names it. A page that nobody serves is not found either, and proves nothing.
func notFound(err error, name string) bool {
	s, genuine := statusOf(err)
	return genuine && s.Reason == meta.StatusReasonNotFound && s.Details != nil && s.Details.Name == name
}

// alreadyExists reports whether the API server has an object of the name, maybe
// one that is being deleted.
func alreadyExists(err error) bool {
	s, genuine := statusOf(err)
	return genuine && s.Reason == meta.StatusReasonAlreadyExists
}

// problem is a failed call in the arena's words, with the failure behind it. Its
// text has nothing of an answer that is not the API server's own: a proxy may
// repeat the request there, token and all.
type problem struct {
	text  string
	cause error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.cause }

// explain says what went wrong and, where it is known, what to do.
func explain(err error) error {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return err
	}
	s, genuine := statusOf(err)
	text := fmt.Sprintf("the API server answered %d", s.Code)
	if word := http.StatusText(int(s.Code)); word != "" {
		text += " " + word
	}
	if genuine {
		text += ": " + sentence(s.Message)
	} else {
		text += " in words that are not Kubernetes'; a proxy may be in the way"
	}
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		text += fmt.Sprintf(" (it asks to wait %d s)", s.Details.RetryAfterSeconds)
	}
	switch s.Code {
	case http.StatusUnauthorized:
		text += "; check the credentials in the kubeconfig"
	case http.StatusForbidden:
		text += "; the arena's account needs create, get, list and delete on jobs.batch, list on pods and get on pods/log in its namespace, and room in the namespace's quota"
	}
	return &problem{text: text, cause: err}
}

// maxSentence bounds what is repeated of the cluster's words, in bytes.
const maxSentence = 500

// sentence makes one line of bounded length of the cluster's words.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxSentence {
		text = strings.ToValidUTF8(text[:maxSentence], "") + "…"
	}
	return text
}
