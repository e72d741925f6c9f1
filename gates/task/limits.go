package task

// Limits bounds what is read from a collection. The zero value allows nothing; start from [DefaultLimits].
type Limits struct {
	MaxTasks        int   // packages in a collection
	MaxFiles        int   // files, and separately directories, in a tree
	MaxFilesPerTask int   // files in one package
	MaxTextBytes    int64 // size of a file whose text is read; larger files are only hashed
	MaxTotalBytes   int64 // sum of all file sizes in a tree
	MaxDepth        int   // components of a path
	MaxPathBytes    int   // length of a path
	MaxFrontmatter  int   // bytes of YAML between the dashes of task.md, and of submission.yaml
	MaxNesting      int   // depth of YAML values
	MaxTokens       int   // words and signs of YAML, about three for a key and its value
}

// DefaultLimits are the registry's limits (PROTOCOL §5; the ones it does not name follow reference answer 17).
func DefaultLimits() Limits {
	return Limits{
		MaxTasks:        200,
		MaxFiles:        20_000,
		MaxFilesPerTask: 2_000,
		MaxTextBytes:    1 << 20,
		MaxTotalBytes:   512 << 20,
		MaxDepth:        20,
		MaxPathBytes:    4096,
		MaxFrontmatter:  64 << 10,
		MaxNesting:      20,
		MaxTokens:       4_000,
	}
}
