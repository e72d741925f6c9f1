package image_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/image"
)

// tarOf makes an archive whose members contain their own names.
func tarOf(names ...string) string {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, n := range names {
		// A buffer does not fail, and a short name always fits a header.
		_ = w.WriteHeader(&tar.Header{Name: n, Mode: 0o644, Size: int64(len(n)), Typeflag: tar.TypeReg})
		_, _ = w.Write([]byte(n))
	}
	_ = w.Close()
	return buf.String()
}

func gzipOf(s string) string {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return buf.String()
}

func zipOf(names ...string) string {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, n := range names {
		f, _ := w.Create(n)
		_, _ = f.Write([]byte(n))
	}
	_ = w.Close()
	return buf.String()
}

// bzipped is a tar archive with one member "b/in.txt", packed with bzip2, which
// the standard library can only read.
func bzipped() string {
	b, err := base64.StdEncoding.DecodeString("QlpoOTFBWSZTWUOKkfUAAG/7gMqAABBAAf2AAEBwIR5ACAggAFQkqaDQNBp6hptQSKRkBoAaB93eQQghUhCMqORK1xQIYModGNebRFiGgiEpt1JoxsOJv2UKVceo+Zokg/F3JFOFCQQ4qR9Q")
	if err != nil {
		panic(err) // a typing error above
	}
	return string(b)
}

// TestAdd covers what ADD does beyond COPY.
func TestAdd(t *testing.T) { runCases(t, addCases()) }

func addCases() []buildCase {
	data := []string{
		"a.txt", "in.tar=" + tarOf("x/one.txt", "two.txt"), "in.bin=" + gzipOf(tarOf("x/one.txt", "three.txt")),
		"in.bz2=" + bzipped(), "plain.gz=" + gzipOf("text"), "d/in.tar=" + tarOf("one.txt"),
	}
	return []buildCase{
		{
			name: "a plain file", dockerfile: "FROM scratch\nADD a.txt /app/\n", context: data, real: "docker",
			want: []string{"/app/a.txt = a.txt ADD:2"},
		},
		{
			name: "a tar is unpacked into a directory", dockerfile: "FROM scratch\nADD in.tar /app\n", context: data, real: "docker",
			want: []string{"/app/two.txt = in.tar!two.txt ADD:2", "/app/x/one.txt = in.tar!x/one.txt ADD:2"},
		},
		{
			name: "a packed tar, whatever its name", dockerfile: "FROM scratch\nADD in.bin in.bz2 /app/\n", context: data, real: "docker",
			want: []string{"/app/b/in.txt = in.bz2!b/in.txt ADD:2", "/app/three.txt = in.bin!three.txt ADD:2", "/app/x/one.txt = in.bin!x/one.txt ADD:2"},
		},
		{
			name: "a packed file that is no tar is copied", dockerfile: "FROM scratch\nADD plain.gz /app/\n", context: data, real: "docker",
			want: []string{"/app/plain.gz = plain.gz ADD:2"},
		},
		{
			name: "an archive inside a directory is copied", dockerfile: "FROM scratch\nADD d /app/\n", context: data, real: "docker",
			want: []string{"/app/in.tar = d/in.tar ADD:2"},
		},
		{
			name: "COPY never unpacks", dockerfile: "FROM scratch\nCOPY in.tar /app/\n", context: data, real: "docker",
			want: []string{"/app/in.tar = in.tar COPY:2"},
		},
		{
			name: "unpack can be turned off", dockerfile: "FROM scratch\nADD --unpack=false in.tar /app/\n", context: data, real: "buildkit",
			want: []string{"/app/in.tar = in.tar ADD:2"},
		},
		{
			name: "members that climb stay inside", dockerfile: "FROM scratch\nADD up.tar /app/\n",
			context: []string{"up.tar=" + tarOf("../../etc/passwd", "/abs.txt")},
			want:    []string{"/app/abs.txt = up.tar!abs.txt ADD:2", "/app/etc/passwd = up.tar!etc/passwd ADD:2"},
		},
		{
			name: "a URL", dockerfile: "FROM debian\nADD --checksum=sha256:0011 https://example.org/data/set.csv?x=1 /data/\n",
			want: []string{"/data/set.csv = - ADD:2 url"},
		},
		{
			name: "unpacked, then removed", dockerfile: "FROM debian\nADD in.tar /app/\nRUN rm -r /app/x\n", context: data,
			want: []string{"/app/two.txt = in.tar!two.txt ADD:2", "/app/x/one.txt = in.tar!x/one.txt ADD:2 removed:3"},
		},
	}
}

// TestUnlistedArchives covers archives whose members are not known.
func TestUnlistedArchives(t *testing.T) {
	img, issues := image.Build([]byte("FROM debian\nADD in.tar.xz /app/\nADD in.zst /b\nRUN curl -o /t.tgz https://example.org/t.tgz && tar xzf /t.tgz -C /srv\n"),
		contextOf([]string{"in.tar.xz=\xfd7zXZ\x00rest", "in.zst=\x28\xb5\x2f\xfdrest"}), image.Options{})
	if len(issues) > 0 {
		t.Errorf("issues: %v", issues)
	}
	want := []image.Archive{
		{Source: "in.tar.xz", Target: "/app", Reason: "xz: compression is not read", Line: 2},
		{Source: "in.zst", Target: "/b", Reason: "zstd: compression is not read", Line: 3},
		{Target: "/srv", Reason: "read /t.tgz: content is not known", Line: 4},
	}
	if d := cmp.Diff(want, img.Unlisted); d != "" {
		t.Errorf("unlisted (-want +got):\n%s", d)
	}
}

// TestRemoteAdds covers ADD from the network.
func TestRemoteAdds(t *testing.T) {
	img, _ := image.Build([]byte(`FROM debian
WORKDIR /w
ADD https://example.org/a/b.bin .
ADD --checksum=sha256:0011 http://example.org/c.tar.gz /opt/c.tar.gz
ADD https://example.org/team/repo.git#main /src
ADD git@example.org:team/other.git other
`), nil, image.Options{})
	want := []image.RemoteAdd{
		{URL: "https://example.org/a/b.bin", Target: "/w/b.bin", Line: 3},
		{URL: "http://example.org/c.tar.gz", Target: "/opt/c.tar.gz", Checksum: "sha256:0011", Line: 4},
		{URL: "https://example.org/team/repo.git#main", Target: "/src", Git: true, Line: 5},
		{URL: "git@example.org:team/other.git", Target: "/w/other", Git: true, Line: 6},
	}
	if d := cmp.Diff(want, img.RemoteAdds); d != "" {
		t.Errorf("remote adds (-want +got):\n%s", d)
	}
}
