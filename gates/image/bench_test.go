package image_test

import (
	"fmt"
	"testing"

	"github.com/posttrainarena/arena/gates/image"
)

// usualDockerfile is a Dockerfile of the usual length.
const usualDockerfile = `FROM python:3.12-slim
ENV PYTHONUNBUFFERED=1 APP=/app
RUN apt-get update && \
    apt-get install -y --no-install-recommends curl git && \
    rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir pytest==8.4.1 pytest-json-ctrf==0.3.5
WORKDIR $APP
COPY data/ $APP/data/
COPY tools/*.py tools/
RUN mkdir -p output && python3 tools/step_0.py --seed 1 > data/generated.csv && chmod -R a+r data
`

func BenchmarkBuild(b *testing.B) {
	var files []string
	for i := range 8 {
		files = append(files, fmt.Sprintf("data/in_%d.txt", i), fmt.Sprintf("tools/step_%d.py", i))
	}
	context := contextOf(files)
	b.ReportAllocs()
	for b.Loop() {
		if img, _ := image.Build([]byte(usualDockerfile), context, image.Options{}); len(img.Files) < 16 {
			b.Fatal(len(img.Files))
		}
	}
}

// BenchmarkBuildLarge copies a context of the largest size.
func BenchmarkBuildLarge(b *testing.B) {
	var files []string
	for i := range 20_000 {
		files = append(files, fmt.Sprintf("d%d/f%d.txt", i%100, i))
	}
	context := contextOf(append(files, ".dockerignore=**/*9.txt\n"))
	b.ReportAllocs()
	for b.Loop() {
		image.Build([]byte("FROM scratch AS a\nCOPY . /x\nFROM a\nCOPY --from=a /x /y\nRUN rm -rf /y/d1*\n"), context, image.Options{})
	}
}
