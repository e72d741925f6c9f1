package pysyntax

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkParse measures megabytes a second on the samples, which stand for
// test files, tools and tables, repeated to the size of a large file.
func BenchmarkParse(b *testing.B) {
	paths, err := filepath.Glob(filepath.Join("testdata", "samples", "*.py"))
	if err != nil || len(paths) == 0 {
		b.Fatalf("no samples: %v", err)
	}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		big := append([]byte{}, src...)
		for len(big) < 1<<20 {
			big = append(append(big, '\n'), src...)
		}
		b.Run(filepath.Base(path), func(b *testing.B) { benchmarkParse(b, src) })
		b.Run("1MB-"+filepath.Base(path), func(b *testing.B) { benchmarkParse(b, big) })
	}
}

func benchmarkParse(b *testing.B, src []byte) {
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(src, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
