package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/hub/hubtest"
)

// BenchmarkValidateDataset measures what an author waits for: a real arena validates
// 200 tasks of 10 files from a hub that takes 50 ms for each answer. Every round has
// files that the arena has never seen.
func BenchmarkValidateDataset(b *testing.B) {
	hub := hubtest.NewHuggingFace(b)
	w := newTown(b, hub, "")
	sample := sampleFiles(b, "pack")
	hub.Latency = 50 * time.Millisecond
	for n := range b.N {
		b.StopTimer()
		name := fmt.Sprintf("ada/tasks-%d-%d", b.N, n)
		hub.Dataset(name).Commit(large(sample, name), "main")
		b.StartTimer()
		w.want(200, `"task_count":200`, "POST", "/api/environments/validate", personsToken, map[string]any{
			"challenge_id": "skillsbench-9b", "repo_type": "dataset", "repo_id": name, "revision": "main", "entry_path": "pack",
		})
	}
}

// large is 200 tasks of ten files each, made of the sample's.
func large(sample []hubtest.File, mark string) []hubtest.File {
	tasks := map[string][]hubtest.File{}
	var names []string
	var files []hubtest.File
	for _, f := range sample {
		rest, ok := strings.CutPrefix(f.Path, "pack/envs/")
		if !ok {
			files = append(files, f)
			continue
		}
		name, path, _ := strings.Cut(rest, "/")
		if tasks[name] == nil {
			names = append(names, name)
		}
		tasks[name] = append(tasks[name], hubtest.File{Path: path, Text: f.Text})
	}
	for i := range 200 {
		name := names[i%len(names)]
		for _, f := range tasks[name] {
			f.Text += fmt.Sprintf("\n# Copy %d of %s.\n", i, mark) // a file with a known hash is not fetched
			f.Path = fmt.Sprintf("pack/envs/%s-%d/%s", name, i, f.Path)
			files = append(files, f)
		}
		for n := len(tasks[name]); n < 10; n++ {
			files = append(files, hubtest.File{Path: fmt.Sprintf("pack/envs/%s-%d/environment/data/part-%d.csv", name, i, n), Text: fmt.Sprintf("%d,%d,%s\n", i, n, mark)})
		}
	}
	return files
}
