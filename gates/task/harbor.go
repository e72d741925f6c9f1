package task

import "strings"

// harbor reads a package in Harbor's layout: task.toml, instruction.md, environment/, tests/, solution/. The image
// may be named in task.toml or built by a compose file instead of a Dockerfile.
func (c *checker) harbor() {
	c.pkg.Format, c.pkg.PromptPath, c.pkg.PromptLine = Harbor, "instruction.md", 1
	if raw, ok := c.raw("task.toml"); ok {
		v, err := parseTOML(raw, c.limits)
		if err != nil {
			c.syntax("task-toml", "task.toml", err)
		}
		c.pkg.Frontmatter, c.pkg.Credit = v, creditOf(v.Get("metadata"))
	}
	if text, ok := c.text("instruction.md"); ok {
		s := section{text: text, line: 1}
		s.trim()
		c.pkg.Prompt, c.pkg.PromptLine = s.text, s.line
		if strings.TrimSpace(text) == "" {
			c.fail(Problem{Code: "prompt-empty", Path: "instruction.md", Line: 1, Message: "the instruction is empty", Fix: "say what the agent should do"})
		}
	}
	c.required("tests/test.sh")
	image, _ := c.pkg.Frontmatter.Get("environment", "docker_image").AsText()
	_, compose := c.pkg.Lookup("environment/docker-compose.yaml")
	if _, ok := c.pkg.Lookup("environment/Dockerfile"); ok || (image == "" && !compose) {
		c.dockerfile()
	}
}
