package task

import "strings"

// checkDockerfile looks at the first instructions of a Dockerfile: FROM must come first, only comments, parser
// directives and ARG may stand before it. The whole file is the image model's business.
func checkDockerfile(text string) (problem, warning *syntaxError) {
	line, inArg := 0, false
	for l := range strings.Lines(text) {
		line++
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		word, _, _ := strings.Cut(strings.ReplaceAll(l, "\t", " "), " ")
		continued := strings.HasSuffix(l, `\`) || strings.HasSuffix(l, "`")
		switch {
		case inArg:
		case strings.EqualFold(word, "FROM") && len(l) > len("FROM"):
			return nil, warning
		case strings.EqualFold(word, "ARG"):
			if warning == nil {
				warning = &syntaxError{line, "ARG stands before FROM", "the starting kit's own checker wants FROM first; name the base image directly if you can"}
			}
		default:
			return &syntaxError{line, "the first instruction is " + short(word) + ", not FROM", "begin the Dockerfile with FROM and a base image"}, nil
		}
		inArg = continued
	}
	return &syntaxError{max(line, 1), "the Dockerfile has no FROM instruction", "begin it with FROM and a base image"}, nil
}
