package hfhub_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/compose"
	"github.com/posttrainarena/arena/protocol/hub/hfhub"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
)

// organizersToken may read the private dataset of these tests.
const organizersToken = "hf_organizerCANARYorganizerCANARYorgan01"

// sealedWord is in every name and every text of the private dataset. No error may
// hold it.
const sealedWord = "sealedcanary"

func packages() []hubtest.File {
	return []hubtest.File{
		{Path: "README.md", Text: sealedWord},
		{Path: "tasks/" + sealedWord + "-1/task.md", Text: "---\n---\nDo one " + sealedWord + ".\n"},
		{Path: "tasks/" + sealedWord + "-1/tests/big.bin", Text: sealedWord, LFS: true},
		{Path: "tasks/" + sealedWord + "-2/instruction.md", Text: "Do two " + sealedWord + ".\n", LFS: true},
		{Path: "tasks/_drafts/task.md", Text: sealedWord},
		{Path: "other/x/task.md", Text: sealedWord},
	}
}

// vault is a hub with a private dataset and a token that may read it.
func vault(t *testing.T, files []hubtest.File) (*hubtest.HuggingFace, hfhub.Private) {
	fake := hubtest.NewHuggingFace(t)
	repo := fake.Dataset("org/vault")
	repo.Private = true
	commit := repo.Commit(files, "main")
	fake.Issue(organizersToken, hubtest.Token{Account: hubtest.Account{Name: "olivia"}, Grants: "org/vault"})
	return fake, hfhub.Private{
		RepoID: "org/vault", Commit: commit, Path: "tasks", Token: organizersToken, First: compose.SuiteFile, Wanted: compose.HoldsPrompt,
	}
}

// TestReadPrivate: a suite in a private dataset is read like one in a directory,
// and nothing of the dataset that it is not made of.
func TestReadPrivate(t *testing.T) {
	want := []protocol.SealedTask{
		{Name: sealedWord + "-1", Prompt: "Do one " + sealedWord + ".", Evaluated: true},
		{Name: sealedWord + "-2", Prompt: "Do two " + sealedWord + ".", Evaluated: true},
	}
	one := hubtest.File{Path: "tasks/suite.jsonl", Text: `{"name":"a","prompt":"Do a.","evaluated":true}` + "\n"}
	for name, tc := range map[string]struct {
		files []hubtest.File
		path  string
		want  []protocol.SealedTask
		calls int // for files
	}{
		"packages":                  {files: packages(), want: want, calls: 2},
		"packages, with a slash":    {files: packages(), path: "tasks/", want: want, calls: 2},
		"a file that lists them":    {files: append(packages(), one), want: []protocol.SealedTask{{Name: "a", Prompt: "Do a.", Evaluated: true}}, calls: 1},
		"at the top of the dataset": {files: []hubtest.File{{Path: "suite.jsonl", Text: one.Text, Xet: true}}, path: "/", want: []protocol.SealedTask{{Name: "a", Prompt: "Do a.", Evaluated: true}}, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			fake, p := vault(t, tc.files)
			fake.Page = 2
			if tc.path != "" {
				p.Path = tc.path
			}
			files, err := hfhub.ReadPrivate(t.Context(), options(t, fake), p)
			if err != nil {
				t.Fatal(err)
			}
			suite, err := compose.ReadSealedSuite("s", files)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, suite.Tasks); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
			if n := fake.Calls("GET /api/resolve-cache/") + fake.CDN.Calls(""); n != tc.calls {
				t.Errorf("%d files were asked for, not %d", n, tc.calls)
			}
			for _, r := range fake.Requests("GET /api/datasets/") {
				if strings.Contains(r.Path, "/tree/") && !strings.Contains(r.Path, p.Commit) {
					t.Errorf("listed at %s, not at the commit", r.Path)
				}
			}
		})
	}
	t.Run("a folder without a prompt is there", func(t *testing.T) {
		fake, p := vault(t, append(packages(), hubtest.File{Path: "tasks/zz/notes.txt", Text: "x"}))
		files, err := hfhub.ReadPrivate(t.Context(), options(t, fake), p)
		if err != nil {
			t.Fatal(err)
		}
		dirs, err := fs.ReadDir(files, ".")
		if err != nil || !slices.ContainsFunc(dirs, func(d fs.DirEntry) bool { return d.Name() == "zz" && d.IsDir() }) {
			t.Errorf("%v, %v: a package that is not whole would be passed over", dirs, err)
		}
		if _, err := fs.ReadFile(files, "zz/notes.txt"); err == nil {
			t.Error("a file was read that nobody wanted")
		}
	})
}

// TestReadPrivateFailures: what an organizer is told, without a name of a task.
func TestReadPrivateFailures(t *testing.T) {
	const (
		info = "GET /api/datasets/org/vault/revision/"
		tree = "GET /api/datasets/org/vault/tree/"
		file = "GET /api/resolve-cache/"
	)
	invalid, away := protocol.ErrInvalidSource, protocol.ErrUnavailable
	for name, tc := range map[string]struct {
		spoil func(*hubtest.HuggingFace, *hfhub.Private)
		want  *protocol.Error
		say   string
	}{
		"it is public": {func(h *hubtest.HuggingFace, _ *hfhub.Private) { h.Dataset("org/vault").Private = false }, invalid, "it is not private"},
		"it is gated and public": {func(h *hubtest.HuggingFace, _ *hfhub.Private) {
			d := h.Dataset("org/vault")
			d.Private, d.Gated = false, "auto"
		}, invalid, "it is not private"},
		"it is disabled":               {func(h *hubtest.HuggingFace, _ *hfhub.Private) { h.Dataset("org/vault").Disabled = true }, invalid, "disabled"},
		"a token that may not read it": {func(h *hubtest.HuggingFace, p *hfhub.Private) { h.Issue("hf_x", hubtest.Token{}); p.Token = "hf_x" }, invalid, "the token may not read it"},
		"a token that is revoked":      {func(h *hubtest.HuggingFace, p *hfhub.Private) { h.Revoke(p.Token) }, invalid, "does not accept the token"},
		"no such dataset":              {func(_ *hubtest.HuggingFace, p *hfhub.Private) { p.RepoID = "org/none" }, invalid, "no such dataset"},
		"no such commit":               {func(_ *hubtest.HuggingFace, p *hfhub.Private) { p.Commit = strings.Repeat("a", 40) }, invalid, "it has no commit aaaa"},
		"the hub names another commit": {func(h *hubtest.HuggingFace, _ *hfhub.Private) {
			h.Fail(info, 0, hubtest.Changed(func(s string) string {
				return strings.Replace(s, `"sha":"`, `"sha":"`+strings.Repeat("b", 40)+`","x":"`, 1)
			}))
		}, away, "names no commit"},
		"the hub is away": {func(h *hubtest.HuggingFace, _ *hfhub.Private) { h.Down(true) }, away, "cannot be reached"},
		"the hub limits": {func(h *hubtest.HuggingFace, _ *hfhub.Private) {
			h.Fail(tree, 0, hubtest.Status(429, "Retry-After", "60"))
		}, away, "rate limit"},
		"the listing is cut": {func(h *hubtest.HuggingFace, _ *hfhub.Private) { h.Fail(tree, 0, hubtest.Cut(40)) }, away, "breaks off"},
		"the listing has an unknown kind": {func(h *hubtest.HuggingFace, _ *hfhub.Private) {
			h.Fail(tree, 0, hubtest.Changed(func(s string) string { return strings.ReplaceAll(s, `"size":`, `"size":-`) }))
		}, protocol.ErrSourceRefused, "one of its files"},
		"a file is another one": {func(h *hubtest.HuggingFace, _ *hfhub.Private) { h.Fail(file, 0, hubtest.Changed(strings.ToUpper)) }, away, "something else than one of its files"},
		"a file is longer": {func(h *hubtest.HuggingFace, _ *hfhub.Private) {
			h.Fail(file, 0, hubtest.Changed(func(s string) string { return s + s }))
		}, away, "something else"},
		"a file is not delivered": {func(h *hubtest.HuggingFace, _ *hfhub.Private) {
			h.Fail(file, 0, hubtest.Status(404, "X-Error-Code", "EntryNotFound"))
		}, away, "does not deliver"},
		"a file stalls": {func(h *hubtest.HuggingFace, _ *hfhub.Private) { h.Fail(file, 0, hubtest.Stall(3)) }, away, "took longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake, p := vault(t, packages())
			tc.spoil(fake, &p)
			o := options(t, fake)
			if strings.Contains(name, "stalls") {
				o.Timeout = 50 * time.Millisecond
			}
			files, err := hfhub.ReadPrivate(t.Context(), o, p)
			if !errors.Is(err, tc.want) || files != nil {
				t.Fatalf("got %v, want %s", err, tc.want.Code)
			}
			if said := protocol.AsError(err).Detail; !strings.Contains(said, tc.say) {
				t.Errorf("it says %q, not %q", said, tc.say)
			}
			for _, secret := range []string{sealedWord, p.Token} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error holds a secret: %v", err)
				}
			}
		})
	}
}
