package controls

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/posttrainarena/arena/gates/task"
)

// maxPacked bounds the bytes that are packed for one build or copy.
const maxPacked = 1 << 30

// packer writes files of a package to a tar, all owned by root.
type packer struct {
	pkg  *task.Package
	buf  bytes.Buffer
	tar  *tar.Writer
	left int64
	dirs map[string]bool
}

func newPacker(p *task.Package) *packer {
	k := &packer{pkg: p, left: maxPacked, dirs: map[string]bool{}}
	k.tar = tar.NewWriter(&k.buf)
	return k
}

// dir adds a directory with those above it, once.
func (k *packer) dir(name string) error {
	if name == "." || name == "" || k.dirs[name] {
		return nil
	}
	if err := k.dir(path.Dir(name)); err != nil {
		return err
	}
	k.dirs[name] = true
	return k.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
}

// text adds a file with the given content.
func (k *packer) text(name, content string, executable bool) error {
	if err := k.dir(path.Dir(name)); err != nil {
		return err
	}
	mode := int64(0o644)
	if executable {
		mode = 0o755
	}
	if err := k.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := io.WriteString(k.tar, content)
	return err
}

// file adds a file of the package under another name. Links are added as what they are; nothing follows them here.
func (k *packer) file(e task.Entry, name string) error {
	if e.Kind == task.Submodule {
		return nil
	}
	if k.left -= e.Size; k.left < 0 {
		return fmt.Errorf("pack %s: the files together have more than %d MiB", e.Path, maxPacked>>20)
	}
	if err := k.dir(path.Dir(name)); err != nil {
		return err
	}
	if e.Kind == task.Symlink {
		target, err := k.link(e.Path)
		if err != nil {
			return fmt.Errorf("pack %s: %w", e.Path, err)
		}
		return k.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
	}
	f, err := k.pkg.FS.Open(e.Path)
	if err != nil {
		return fmt.Errorf("pack %s: %w", e.Path, err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, e.Size+1))
	if err != nil {
		return fmt.Errorf("pack %s: %w", e.Path, err)
	}
	return k.text(name, string(content), e.Executable)
}

// link reads where a symbolic link of the package points, where its file system can tell.
func (k *packer) link(name string) (string, error) {
	fsys, ok := k.pkg.FS.(interface{ ReadLink(string) (string, error) })
	if !ok {
		return "", fmt.Errorf("the link cannot be read here")
	}
	return fsys.ReadLink(name)
}

func (k *packer) done() (io.Reader, error) {
	if err := k.tar.Close(); err != nil {
		return nil, err
	}
	return &k.buf, nil
}

// buildContext packs environment/ without what .dockerignore leaves out. The engine's interface leaves that to whoever
// sends the context.
func buildContext(p *task.Package) (io.Reader, error) {
	const dir = "environment/"
	k := newPacker(p)
	var ignore *patternmatcher.PatternMatcher
	for _, name := range []string{"Dockerfile.dockerignore", ".dockerignore"} {
		text, err := p.ReadText(dir + name)
		if err != nil {
			continue
		}
		patterns, err := ignorefile.ReadAll(bytes.NewReader(text))
		if err != nil {
			return nil, &BuildError{Message: name + " cannot be read: " + err.Error()}
		}
		if ignore, err = patternmatcher.New(patterns); err != nil {
			return nil, &BuildError{Message: name + " cannot be read: " + err.Error()}
		}
		break
	}
	for _, e := range p.Files {
		name, inside := strings.CutPrefix(e.Path, dir)
		if !inside {
			continue
		}
		if ignore != nil && name != "Dockerfile" && name != ".dockerignore" {
			out, err := ignore.MatchesOrParentMatches(name)
			if err != nil {
				return nil, &BuildError{Message: ".dockerignore cannot be read: " + err.Error()}
			}
			if out {
				continue
			}
		}
		if err := k.file(e, name); err != nil {
			return nil, err
		}
	}
	return k.done()
}

// directory adds a directory of the package under another name. replaced is the text of one file that is other than in
// the package, or new.
func (k *packer) directory(from, to string, replaced map[string]string) error {
	if err := k.dir(to); err != nil {
		return err
	}
	for _, e := range k.pkg.Files {
		rest, inside := strings.CutPrefix(e.Path, from+"/")
		if _, other := replaced[e.Path]; !inside || other {
			continue
		}
		if err := k.file(e, path.Join(to, rest)); err != nil {
			return err
		}
	}
	for name, content := range replaced {
		if err := k.text(path.Join(to, strings.TrimPrefix(name, from+"/")), content, true); err != nil {
			return err
		}
	}
	return nil
}
