package image

import (
	"errors"
	"fmt"
)

// Image is what a Dockerfile builds.
type Image struct {
	// Files are the files that instructions placed in the final stage, sorted by
	// target. The base image's own files are not known and not listed.
	Files []Placed
	// Packed are the members of archives among Files, as far as they can be read;
	// their Target is that of the archive.
	Packed []Placed
	// RemoteAdds are ADD instructions with a URL or a Git repository.
	RemoteAdds []RemoteAdd
	// Opaque are commands of RUN instructions with effects that are not known.
	Opaque []OpaqueRun
	// Unlisted are archives that were unpacked without their members being known.
	Unlisted []Archive
	// Stages are all stages, in the order of the Dockerfile.
	Stages []Stage
	// Base is the image that the final stage grows from: "scratch", a reference,
	// or "" when it cannot be known.
	Base string

	Workdir string            // working directory, absolute
	Env     map[string]string // what ENV sets; the base image's own variables are not known
	User    string            // the last USER, "" if there is none
	Shell   []string          // the last SHELL, nil if there is none

	// Truncated says that a limit was reached and the lists may be incomplete;
	// an issue says which.
	Truncated bool
}

// Via says which kind of instruction placed a file.
type Via string

// Ways into an image.
const (
	ViaCopy    Via = "COPY"
	ViaAdd     Via = "ADD"
	ViaRun     Via = "RUN"
	ViaHeredoc Via = "heredoc"     // COPY <<EOF
	ViaStage   Via = "COPY --from" // from another stage or image
)

// Placed is one file of the image.
type Placed struct {
	// Target is the absolute path in the image.
	Target string
	// Source is the path in the build context that the content comes from, also
	// when it took the way through another stage, a mount or cp. It is "" for
	// files that the build writes itself.
	Source string
	// Member is the path inside Source when that is an archive.
	Member string
	// From is the stage or image of COPY --from.
	From string
	// URL is where a RUN instruction downloads the file from.
	URL string
	// Clone says that the file stands for the history of a repository that was
	// cloned from URL.
	Clone bool
	// Line is the line of the Dockerfile that placed the file here.
	Line int
	Via  Via
	// Size is the length of the content in bytes, -1 if it is not known.
	Size int64
	// Link is the target of a symbolic link, "" for regular files.
	Link string
	// Guard is the undecided condition around the command that placed the file,
	// "" if it is placed in every build.
	Guard string
	// Modified says that a later command changed the content, mostly in a way
	// that is not known; Source then tells what it was.
	Modified bool
	// Removed says that a later instruction removed or replaced the file: it is
	// not visible in the container, but still in a layer of the image.
	Removed     bool
	RemovedLine int

	layer   int // the instruction that placed it
	mounted bool
	content func() ([]byte, error)
}

// ErrNoContent means that the content of a file is not known to the model.
var ErrNoContent = errors.New("content is not known")

// ErrTooLarge means that a file is larger than the limit for files that are read.
var ErrTooLarge = errors.New("file is too large to read")

// Content returns the content of the file as it was placed. The error wraps
// ErrNoContent or ErrTooLarge, or is that of the build context.
func (p Placed) Content() ([]byte, error) {
	if p.content == nil {
		return nil, fmt.Errorf("read %s: %w", p.Target, ErrNoContent)
	}
	b, err := p.content()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.Target, err)
	}
	return b, nil
}

// RemoteAdd is one ADD from the network.
type RemoteAdd struct {
	URL      string
	Target   string // file, or directory for a Git repository
	Git      bool
	Checksum string // of --checksum, "" if none
	Line     int
}

// OpaqueRun is one command whose effects on files are not known.
type OpaqueRun struct {
	Command string
	// Program is the file that is executed, "" for installed programs and inline code.
	Program string
	// Source is the file of the build context that Program comes from, "" if none.
	Source string
	// Paths are the constant paths among the arguments, absolute: files that the
	// command may read or write.
	Paths []string
	Line  int
}

// Archive is an archive that was unpacked without its members being known.
type Archive struct {
	Source string // path in the context, "" if the archive was made or downloaded by the build
	Target string // directory in the image
	Reason string
	Line   int
}

// Stage is one FROM.
type Stage struct {
	Index int
	Name  string // of AS, lower case, "" if none
	Base  string // as resolved: a stage's name or index, or an image reference
	Line  int
}

// Issue is one thing that the model could not follow, or that a build would refuse.
type Issue struct {
	Code    Code
	Line    int // line of the Dockerfile, 0 if none
	Message string
}

// Error makes an Issue usable as an error.
func (i Issue) Error() string {
	if i.Line == 0 {
		return i.Message
	}
	return fmt.Sprintf("line %d: %s", i.Line, i.Message)
}

// Code says what kind of issue it is.
type Code string

// Kinds of issues.
const (
	CodeUnparsed     Code = "unparsed"           // an instruction, script or .dockerignore that cannot be parsed
	CodeNoFrom       Code = "no-from"            // no FROM, or an instruction before it
	CodeBase         Code = "unresolved-base"    // FROM names nothing: ${X} without a value
	CodeStage        Code = "unknown-stage"      // --from names a stage index that does not exist, or the target is unknown
	CodeCircular     Code = "circular-stage"     // a stage depends on itself
	CodeLater        Code = "later-stage"        // --from names a stage that comes later
	CodeMissing      Code = "missing-source"     // COPY of a file that the context does not have
	CodeOutside      Code = "outside-context"    // a source path that leaves the context
	CodeUndefined    Code = "undefined-variable" // a variable that neither ARG nor ENV defines
	CodeShell        Code = "unsupported-shell"  // RUN in a shell that is not followed
	CodeLimit        Code = "limit"              // one of Limits was reached
	CodeRead         Code = "read"               // the build context could not be read
	CodeIgnoredEntry Code = "ignored-source"     // COPY of a file that .dockerignore leaves out
)

// Limits bound what is read. A zero field means its default.
type Limits struct {
	Files     int   // files of the build context; default 20,000
	Depth     int   // nesting of directories in the context; default 20
	FileBytes int64 // largest file whose content is returned; default 1 MiB
	// ArchiveBytes is how much of an archive is unpacked; default 64 MiB.
	ArchiveBytes int64
	// Placed is how many files are placed in all stages together; default 100,000.
	Placed int
}

func (l Limits) withDefaults() Limits {
	if l.Files <= 0 {
		l.Files = 20_000
	}
	if l.Depth <= 0 {
		l.Depth = 20
	}
	if l.FileBytes <= 0 {
		l.FileBytes = 1 << 20
	}
	if l.ArchiveBytes <= 0 {
		l.ArchiveBytes = 64 << 20
	}
	if l.Placed <= 0 {
		l.Placed = 100_000
	}
	return l
}

// Options say how the image is built.
type Options struct {
	// Name is the Dockerfile's name in the context, for NAME.dockerignore;
	// default "Dockerfile".
	Name string
	// BuildArgs are the values of --build-arg.
	BuildArgs map[string]string
	// Target is the stage to build, "" for the last one.
	Target string
	Limits Limits
}
