package arena

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
)

// keptTrees are the parts of a job's output that the arena keeps. The sealed
// stages' attempts (jobs/baseline, jobs/posttrain) are not among them: nothing
// per-task of a sealed suite is stored beyond the outcomes in reports.
func keptTrees() []string { return []string{"jobs/grpo-gate", "jobs/grpo-train", "reports"} }

// kept is what the arena keeps of a job's output: files of it, and files that are
// made of it.
type kept struct {
	uploaded fs.FS
	files    []protocol.TreeFile
	made     map[string][]byte // by path
	lost     []string          // why parts are not kept, in sentences
}

// keepOf decides what is kept of a job's output, with git blob ids where they are
// known. A job writes what it likes, so a part that cannot be kept is left out,
// and a file in its place says why: its run must end all the same. An error says
// that the output could not be read, which may be different the next time.
func keepOf(uploaded fs.FS, limits task.Limits) (*kept, error) {
	k := &kept{uploaded: uploaded, made: map[string][]byte{}}
	for _, dir := range keptTrees() {
		if info, err := fs.Stat(uploaded, dir); err != nil || !info.IsDir() {
			continue
		}
		err := k.tree(dir, limits)
		if unfit, ok := errors.AsType[*task.TreeError](err); ok {
			err = k.without(dir, unfit)
		} else if errors.Is(err, fs.ErrPermission) {
			err = k.without(dir, fs.ErrPermission)
		}
		if err != nil {
			return nil, err
		}
	}
	outcomes, err := artifacts.SealedOutcomes(uploaded)
	if err != nil {
		return nil, err
	}
	if outcomes != nil {
		k.make(artifacts.OutcomesFile, outcomes)
	}
	return k, nil
}

// tree keeps a directory.
func (k *kept) tree(dir string, limits task.Limits) error {
	sub, err := fs.Sub(k.uploaded, dir)
	if err != nil {
		return err
	}
	tree, err := task.ReadTree(sub, limits)
	if err != nil {
		return err
	}
	for _, e := range tree.Entries {
		if e.Kind == task.File {
			k.files = append(k.files, protocol.TreeFile{Path: dir + "/" + e.Path, Kind: protocol.FileRegular, Size: e.Size, Blob: e.Blob})
		}
	}
	return nil
}

// without leaves a directory out, but for the files that collecting reads.
func (k *kept) without(dir string, why error) error {
	sentence := fmt.Sprintf("What the job left in %s is not kept: %v.", dir, why)
	k.lost = append(k.lost, sentence)
	k.make(path.Join(dir, artifacts.NotKept), []byte(sentence+"\n"))
	for _, name := range artifacts.Evidence() {
		if path.Dir(name) != dir {
			continue
		}
		info, err := fs.Lstat(k.uploaded, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case info.Mode().IsRegular() && info.Size() <= artifacts.MaxEvidence:
			k.files = append(k.files, protocol.TreeFile{Path: name, Kind: protocol.FileRegular, Size: info.Size()})
		}
	}
	return nil
}

// make keeps a file that the job did not write.
func (k *kept) make(name string, body []byte) {
	k.made[name] = body
	k.files = append(k.files, protocol.TreeFile{Path: name, Kind: protocol.FileRegular, Size: int64(len(body))})
}

// open opens a kept file.
func (k *kept) open(name string) (io.ReadCloser, error) {
	if body, ok := k.made[name]; ok {
		return io.NopCloser(bytes.NewReader(body)), nil
	}
	return k.uploaded.Open(name)
}
