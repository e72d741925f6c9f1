package arena_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// TestIdentifyKnowsItsOwnTokens issues tokens and presents them, whole and damaged.
func TestIdentifyKnowsItsOwnTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issue := func(id, name, secret string, isEditor bool) {
		t.Helper()
		token := protocol.Token{ID: id, Name: name, Editor: isEditor, CreatedAt: time.Now()}
		must0(t, w.store.CreateToken(t.Context(), protocol.Actor{Name: protocol.ActorArena}, token, sha256.Sum256([]byte(secret))))
	}
	const adas, olgas = "arena_ADASADASADASADASADASADASADASADAS", "arena_OLGAOLGAOLGAOLGAOLGAOLGAOLGAOLGA"
	issue("tok-ada", "ada", adas, false)
	issue("tok-olga", "olga", olgas, true)
	for secret, want := range map[string]protocol.Identity{adas: {Name: "ada"}, olgas: {Name: "olga", Editor: true}} {
		if who := must(w.Identify(t.Context(), secret, nil))(t); who.Name != want.Name || who.Editor != want.Editor || !who.SignedIn() {
			t.Errorf("%s signs in as %+v", want.Name, who)
		}
	}
	for _, secret := range []string{"", adas + "A", adas[:len(adas)-1], strings.ToLower(adas), "hf_" + strings.Repeat("A", 34), "arena_" + strings.Repeat("A", 5000)} {
		_, err := w.Identify(t.Context(), secret, nil)
		wantError(t, err, protocol.ErrBadToken)
	}
	must(w.store.RevokeToken(t.Context(), protocol.Actor{Name: protocol.ActorArena}, "ada"))(t)
	_, err := w.Identify(t.Context(), adas, nil)
	wantError(t, err, protocol.ErrBadToken)
	must(w.Identify(t.Context(), olgas, nil))(t)
}

// TestAgentsBelongToTheirOwner registers agents: again is harmless, otherwise is
// refused, and one of somebody else's cannot be acted as.
func TestAgentsBelongToTheirOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sorter := protocol.Agent{ID: "sorter", Description: "Sorts ledgers.", Model: "small-1"}
	first, existing, err := w.RegisterAgent(t.Context(), ada, by(ada), sorter)
	if err != nil || existing || first.Owner != "ada" {
		t.Fatalf("register: %+v, existing %v, %v", first, existing, err)
	}
	again, existing, err := w.RegisterAgent(t.Context(), ada, by(ada), sorter)
	if err != nil || !existing || !again.CreatedAt.Equal(first.CreatedAt) {
		t.Errorf("again: %+v, existing %v, %v", again, existing, err)
	}
	changed := sorter
	changed.Model = "large-1"
	_, _, err = w.RegisterAgent(t.Context(), ada, by(ada), changed)
	wantError(t, err, protocol.ErrAgentChanged)
	_, _, err = w.RegisterAgent(t.Context(), eve, by(eve), sorter)
	if e := wantError(t, err, protocol.ErrAgentTaken); !strings.Contains(e.Detail, "already registered by another HF user") {
		t.Errorf("it says %q", e.Detail)
	}
	for _, id := range []string{"", "x", "Sorter", "-sorter", "human-ada", strings.Repeat("a", 49)} {
		_, _, err := w.RegisterAgent(t.Context(), ada, by(ada), protocol.Agent{ID: id})
		wantError(t, err, protocol.ErrInvalid)
	}
	_, _, err = w.RegisterAgent(t.Context(), protocol.Identity{}, by(eve), protocol.Agent{ID: "nobodys"})
	wantError(t, err, protocol.ErrSignedOut)

	post := func(who protocol.Identity, agent string) error {
		_, _, err := w.PostMessage(t.Context(), who, by(who), protocol.Message{RequestID: "message-" + who.Name + agent, Body: "Hello.", AgentID: agent})
		return err
	}
	must0(t, post(ada, "sorter"))
	must0(t, post(eve, ""))
	wantError(t, post(eve, "sorter"), protocol.ErrForeignAgent)
	wantError(t, post(editor, "sorter"), protocol.ErrForeignAgent)
}
