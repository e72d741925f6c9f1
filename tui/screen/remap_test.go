package screen

import (
	"strings"
	"testing"
)

func TestRemap(t *testing.T) {
	rows, err := Remap(Bindings(), "keys", "# mine\nlog follow = F ctrl+l # a comment\n\nanywhere refresh = f5\n")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := NewKeys(rows)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]Intent{"F": FollowEnd, "ctrl+l": FollowEnd, "f5": Refresh} {
		if b, ok := keys.Find([]Scope{OnLog, Global}, key); !ok || b.Intent != want {
			t.Errorf("%s is %s, %t", key, b.Intent, ok)
		}
	}
	for _, key := range []string{"f", "r"} {
		if b, ok := keys.Find([]Scope{OnLog, Global}, key); ok {
			t.Errorf("%s still means %s", key, b.Intent)
		}
	}
	// Two rows may change places.
	if _, err := Remap(Bindings(), "keys", "log wrap = t\nlog times = w"); err != nil {
		t.Error(err)
	}
}

func TestRemapSaysWhatIsWrongWhere(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"log", "keys:1: a line is: scope intent = keys"},
		{"\nlog follow =", "keys:2: a line is"},
		{"lob follow = F", "keys:1: there is no scope lob; the scopes are anywhere, attach, attempt,"},
		{"log fellow = F", "keys:1: log has no intent fellow; it has choose, follow,"},
		{"log follow = w", "keys:1: the key w of log already means wrap; give that another key too"},
		{"log follow = F\nlog wrap = F", "keys:2: the key F of log already means follow"},
	} {
		_, err := Remap(Bindings(), "keys", c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	_, err := Remap(Bindings(), "keys", "a b = c\nd e = f")
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not both lines are reported: %v", err)
	}
}

func FuzzRemap(f *testing.F) {
	f.Add("log follow = F\n# x\nanywhere quit = q")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := Remap(Bindings(), "keys", text)
		if err == nil {
			if _, err := NewKeys(rows); err != nil {
				t.Fatalf("keys that were accepted cannot be used: %v", err)
			}
		}
	})
}
