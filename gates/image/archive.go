package image

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

const (
	// maxMembers bounds how many members of one archive are listed.
	maxMembers = 20_000
	// maxStored bounds the member content that is kept for all archives together.
	maxStored = 16 << 20
	// unpackFactor times Limits.ArchiveBytes bounds what all archives of a build
	// unpack to together.
	unpackFactor = 4
	// maxZip bounds the zip files that are read: they need to be in memory.
	maxZip = 16 << 20
)

// errNotArchive means that a file is no archive that ADD would unpack.
var errNotArchive = errors.New("not an archive")

// errPacked means that an archive is packed in a way that is not read here.
var errPacked = errors.New("compression is not read")

// member is one file of an archive.
type member struct {
	name string // clean relative path
	size int64
	link string
	data []byte // nil if it was not kept
}

// archiveReader returns the plain tar stream of an archive, judged by its first
// bytes, as ADD does; the name plays no part.
func archiveReader(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, 4096)
	head, _ := buffered.Peek(512)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(buffered)
	case bytes.HasPrefix(head, []byte("BZh")):
		return bzip2.NewReader(buffered), nil
	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		return nil, fmt.Errorf("xz: %w", errPacked)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return nil, fmt.Errorf("zstd: %w", errPacked)
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return buffered, nil
	}
	return nil, errNotArchive
}

// budget bounds what reading archives may cost.
type budget struct {
	unpack int64 // bytes that may still be unpacked
	store  int64 // bytes of member content that may still be kept
	each   int64 // largest member that is kept
}

// listTar lists the members of a tar archive, packed or not, as far as the
// budget goes. The error says when that was not enough, and the members up to
// there are returned with it.
func listTar(r io.Reader, b *budget) ([]member, error) {
	plain, err := archiveReader(r)
	if err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: plain, N: b.unpack}
	defer func() { b.unpack = limited.N }()
	tr := tar.NewReader(limited)
	var out []member
	for {
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil && limited.N <= 0:
			return out, errors.New("too large when unpacked")
		case err != nil && len(out) == 0:
			return nil, errNotArchive // for example a single packed file
		case err != nil:
			return out, fmt.Errorf("damaged: %w", err)
		case len(out) >= maxMembers:
			return out, fmt.Errorf("more than %d members", maxMembers)
		}
		m, ok := tarMember(h)
		if !ok {
			continue
		}
		if h.Typeflag == tar.TypeReg {
			m.data = b.keep(tr, h.Size)
		}
		out = append(out, m)
	}
}

// keep reads a member whose content is worth keeping, nil if it is not.
func (b *budget) keep(r io.Reader, size int64) []byte {
	if size > b.each || size > b.store {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(r, size))
	if err != nil {
		return nil
	}
	b.store -= int64(len(data))
	return data
}

// tarMember describes one header; directories and devices are left out.
func tarMember(h *tar.Header) (member, bool) {
	m := member{name: strings.TrimPrefix(path.Clean("/"+h.Name), "/"), size: h.Size}
	switch h.Typeflag {
	case tar.TypeReg:
	case tar.TypeSymlink, tar.TypeLink:
		m.link, m.size = h.Linkname, 0
	default:
		return member{}, false
	}
	return m, m.name != ""
}

// listZip lists the members of a zip file that is in memory.
func listZip(data []byte, b *budget) ([]member, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	var out []member
	for _, f := range z.File {
		if len(out) >= maxMembers {
			return out, fmt.Errorf("more than %d members", maxMembers)
		}
		name := strings.TrimPrefix(path.Clean("/"+f.Name), "/")
		if name == "" || !f.Mode().IsRegular() {
			continue
		}
		m := member{name: name, size: int64(min(f.UncompressedSize64, 1<<62))}
		if r, err := f.Open(); err == nil {
			m.data = b.keep(r, m.size)
			r.Close()
		}
		out = append(out, m)
	}
	return out, nil
}

// open returns the whole content of a file, for reading an archive.
func (b *builder) open(f *Placed) (io.ReadCloser, error) {
	switch {
	case f.Modified || f.Link != "":
		return nil, ErrNoContent
	case f.Source != "" && f.Member == "":
		return b.context.fsys.Open(f.Source)
	}
	data, err := f.Content()
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// listing is what an archive holds.
type listing struct {
	members []member
	err     error
}

// members lists an archive: a tar in any packing that is read, or a zip file
// when zips are asked for. An archive of the context is read once for each.
func (b *builder) members(f *Placed, zips bool) listing {
	key := fmt.Sprintf("%s\x00%s\x00%t", f.Source, f.Member, zips)
	if l, ok := b.archives[key]; ok && f.Source != "" {
		return l
	}
	l := b.readArchive(f, zips)
	if f.Source != "" {
		b.archives[key] = l
	}
	return l
}

func (b *builder) readArchive(f *Placed, zips bool) listing {
	r, err := b.open(f)
	if err != nil {
		return listing{err: err}
	}
	defer r.Close()
	limited := bufio.NewReader(io.LimitReader(r, b.limits.ArchiveBytes))
	if head, _ := limited.Peek(4); zips && string(head) == "PK\x03\x04" {
		data, err := io.ReadAll(io.LimitReader(limited, maxZip+1))
		if err == nil && len(data) > maxZip {
			err = fmt.Errorf("more than %d bytes", maxZip)
		}
		if err != nil {
			return listing{err: err}
		}
		members, err := listZip(data, &b.budget)
		return listing{members: members, err: err}
	}
	total := b.budget.unpack
	b.budget.unpack = min(total, b.limits.ArchiveBytes)
	share := b.budget.unpack
	members, err := listTar(limited, &b.budget)
	b.budget.unpack = total - (share - b.budget.unpack)
	return listing{members: members, err: err}
}

// unpack is what ADD does with a local archive. It is false when the file is
// none, so that it is copied as it is.
func (b *builder) unpack(s *stage, t transfer, f *Placed) bool {
	l := b.members(f, false)
	if errors.Is(l.err, errNotArchive) || errors.Is(l.err, ErrNoContent) {
		return false
	}
	b.placeMembers(s, f, l.members, path.Clean(t.dest), Placed{Line: t.line, Via: ViaAdd})
	if l.err != nil {
		b.unlisted(f.Source, path.Clean(t.dest), l.err.Error(), t.line)
	}
	return true
}

// extract is what tar x and unzip do.
func (b *builder) extract(s *stage, from, dir string, like Placed) {
	f, ok := s.tree.files[from]
	if !ok {
		b.unlisted("", dir, from+" is not known", like.Line)
		return
	}
	l := b.members(f, true)
	b.placeMembers(s, f, l.members, dir, like)
	if l.err != nil {
		b.unlisted(f.Source, dir, l.err.Error(), like.Line)
	}
}

// packed lists what an archive of the context holds that is in the image as it is.
func (b *builder) packed(f *Placed) []Placed {
	switch strings.ToLower(path.Ext(f.Source)) {
	case ".tar", ".tgz", ".gz", ".tbz", ".tbz2", ".bz2", ".zip", ".jar", ".whl":
	default:
		return nil
	}
	if f.Member != "" {
		return nil
	}
	var files []Placed
	for _, m := range b.members(f, true).members {
		files = append(files, memberOf(f, m, *f))
	}
	return files
}

// memberOf is a member of an archive as a file; like says where it is.
func memberOf(archive *Placed, m member, like Placed) Placed {
	like.Source, like.Member, like.Size, like.Link, like.content = archive.Source, m.name, m.size, m.link, nil
	if m.data != nil {
		like.content = func() ([]byte, error) { return m.data, nil }
	}
	return like
}

// placeMembers places what was found in an archive.
func (b *builder) placeMembers(s *stage, archive *Placed, members []member, dir string, like Placed) {
	s.tree.mkdir(dir)
	for _, m := range members {
		like.Target = path.Join(dir, m.name)
		b.place(s, memberOf(archive, m, like))
	}
}

func (b *builder) unlisted(source, target, reason string, line int) {
	b.img.Unlisted = append(b.img.Unlisted, Archive{Source: source, Target: target, Reason: reason, Line: line})
}
