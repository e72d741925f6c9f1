// Package configs holds the arena's configuration: the embedded default files
// and a strict loader for them.
//
// The package knows TOML, not arena rules. It makes sure that every file parses,
// that every key is known and has the right type, that nothing required is
// missing and that fragments refer to fragments that exist. Whether the numbers
// make sense together (a GPU layout that works, a status that exists, an amount
// of money) is for protocol/compose to say.
//
// A configuration is a directory:
//
//	arena.toml             the installation: address, cap, identity, providers
//	known_issues.toml      why runs stop, in words for people
//	challenges/<id>.toml   one challenge: binding, pipeline pin, compute, texts
//	models/<id>.toml       a base model and how it is served
//	suites/<id>.toml       a sealed suite and where its tasks come from
//	methods/<id>.toml      a recipe, in the training pipeline's own tables
//
// The id of a fragment is its file's name. The embedded files are the default;
// [Load] lays a directory over them: its arena.toml key by key, so that it can be
// a few lines, and every other file whole.
package configs
