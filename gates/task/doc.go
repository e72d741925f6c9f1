// Package task reads task packages as data.
//
// Everything starts with a [Tree]: a listing of files with their git blob ids, and an [io/fs.FS] that opens them. A
// directory ([ReadTree]), an uploaded tar, a repository listing and an in-memory test file system all become the same
// tree, so every source of a collection behaves alike. Symbolic links and submodules are listed and never followed,
// and nothing is ever executed.
//
// [ReadCollection] applies the registry's contract (PROTOCOL §5): submission.yaml, 1–200 packages under envs/, and the
// required parts of each package. [ReadPackages] is its lenient sibling for authors: it takes a collection, a
// directory of packages or one package, Harbor's format included. Both return what could be read together with a list
// of [Problem]s, so that one broken file does not hide the next.
//
// Three formats describe the same thing: BenchFlow-native and PostTrain packages have a task.md with YAML frontmatter
// and a "## prompt" section, Harbor packages have task.toml and instruction.md. [Package] is their common form.
//
// Every read is bounded by [Limits]. Text comes from strangers: YAML is restricted to plain data (no anchors, aliases
// or tags, each key once, depth 20, 64 KiB) and is checked before the parser sees it, because the parser's memory
// grows with the square of the nesting.
package task
