package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// TestDoctorImages: runs that are compared must be made with the same software.
func TestDoctorImages(t *testing.T) {
	for _, c := range []struct {
		about, settings string
		status          protocol.DiagnosisStatus
		says            string
	}{
		{"nobody needs one", "[providers]\ndefault = \"simulated\"\n[providers.huggingface]\nimage = \"a/b:latest\"", protocol.DiagnosisSkipped, "no challenge's jobs"},
		{"not named", "[providers]\ndefault = \"huggingface\"", protocol.DiagnosisSkipped, "no challenge's jobs"},
		{"moves", "[providers]\ndefault = \"huggingface\"\n[providers.huggingface]\nimage = \"a/b:latest\"", protocol.DiagnosisWarn, "providers.huggingface.image a/b:latest"},
		{"moves on a cluster", "[providers]\ndefault = \"kubernetes\"\n[providers.kubernetes]\nimage = \"a/b\"", protocol.DiagnosisWarn, "providers.kubernetes.image a/b"},
		{"a version", "[providers]\ndefault = \"huggingface\"\n[providers.huggingface]\nimage = \"a/b:1.2.3\"", protocol.DiagnosisOK, "can be published again"},
		{"pinned", "[providers]\ndefault = \"huggingface\"\n[providers.huggingface]\nimage = \"a/b@sha256:" + strings.Repeat("0a", 32) + "\"", protocol.DiagnosisOK, "pinned by digest"},
	} {
		t.Run(c.about, func(t *testing.T) {
			overlay := t.TempDir()
			if err := os.WriteFile(filepath.Join(overlay, "arena.toml"), []byte(c.settings), 0o600); err != nil {
				t.Fatal(err)
			}
			d := &doctor{overlay: overlay, now: time.Now, getenv: func(string) string { return "" }}
			d.checkConfig()
			for _, got := range d.all {
				if got.Check != "job-images" {
					continue
				}
				if got.Status != c.status || !strings.Contains(got.Detail, c.says) || (got.Status == protocol.DiagnosisWarn) != strings.Contains(got.Fix, "@sha256:") {
					t.Errorf("%+v", got)
				}
				return
			}
			t.Errorf("images are not looked at: %+v", d.all)
		})
	}
}
