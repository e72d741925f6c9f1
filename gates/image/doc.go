// Package image says which files a Dockerfile puts into the agent's image,
// without building it.
//
// [Build] reads the Dockerfile with BuildKit's parser and follows its
// instructions on a model of the file system: a tree of paths, each with the
// file of the build context it came from, or the text that was written, or
// nothing when a program made it. Only the final stage counts as the image;
// other stages are followed when the final one is based on them, copies from
// them or mounts them.
//
// What is modelled: .dockerignore; COPY and ADD with globs, --from, --parents,
// --exclude and here-documents; local archives (tar, and tar packed with gzip
// or bzip2) that ADD unpacks; remote ADD; ARG and ENV expansion; WORKDIR;
// ONBUILD triggers of stages of the same file; SHELL; the escape directive; and
// in RUN the common file tools, through package shell: cp, mv, rm, mkdir,
// touch, tee, redirections, ln, install, sed -i, tar, unzip, find -delete, curl
// -o, wget, git clone and files opened by inline Python. Bind mounts are
// visible inside their RUN only. Every other program is recorded as opaque: it
// may have made or changed files that the model does not know.
//
// Where the build tools differ, BuildKit is followed. Where a build would fail
// (a missing source, an unknown stage), an [Issue] says so and the rest is
// still modelled. Symbolic links are recorded but not followed.
//
// All reads are bounded by [Limits]; nothing panics on any input.
package image
