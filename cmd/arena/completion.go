package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints a script that a shell reads once. The scripts know
// nothing of the verbs: they ask this binary, so they never go out of date.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help says how to install the script.
func (*completionCmd) Help() string {
	return "bash: source <(arena completion bash)\n\nzsh: source <(arena completion zsh)\n\nfish: arena completion fish | source"
}

// Run prints the script.
func (cmd *completionCmd) Run(env *environ) error {
	if _, err := fmt.Fprint(env.Stdout, completionScript(cmd.Shell)); err != nil {
		return fmt.Errorf("write the script: %w", err)
	}
	return nil
}

// completionScript is what a shell needs. Where arena has nothing to offer, as
// after --file, the shell falls back to file names.
func completionScript(shell string) string {
	switch shell {
	case "bash":
		return `_arena() {
  local IFS=$'\n'
  COMPREPLY=($(arena __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _arena arena
`
	case "zsh":
		return `#compdef arena
_arena() {
  local -a found
  found=("${(@f)$(arena __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n $found ]]; then compadd -a found; else _files; fi
}
compdef _arena arena
`
	default:
		return `function __arena_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (arena __complete -- $words[2..-1] 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c arena -f -a '(__arena_complete)'
`
	}
}

// completeCmd answers a script: the words after arena, the last of which is
// being typed.
type completeCmd struct {
	Words []string `arg:"" optional:""`
}

// Run prints the candidates, one a line.
func (cmd *completeCmd) Run(env *environ, parser *kong.Kong) error {
	for _, c := range candidates(parser.Model.Node, cmd.Words) {
		if _, err := fmt.Fprintln(env.Stdout, c); err != nil {
			return fmt.Errorf("write the candidates: %w", err)
		}
	}
	return nil
}

// candidates lists what the last word can become: verbs, flags, or the words
// that a flag or argument allows.
func candidates(node *kong.Node, words []string) []string {
	typed := ""
	if len(words) > 0 {
		typed, words = words[len(words)-1], words[:len(words)-1]
	}
	var open *kong.Flag // the flag whose value comes next
	position := 0
	for _, w := range words {
		child := childNamed(node, w)
		switch {
		case open != nil:
			open = nil
		case strings.HasPrefix(w, "-"):
			if f := flagNamed(node, w); f != nil && !f.IsBool() {
				open = f
			}
		case child != nil:
			node, position = child, 0
		default:
			position++
		}
	}
	var all []string
	switch {
	case open != nil:
		all = enumOf(open.Value)
	case strings.HasPrefix(typed, "-"):
		all = flagNames(node)
	default:
		for _, c := range node.Children {
			if !c.Hidden {
				all = append(all, c.Name)
			}
		}
		if position < len(node.Positional) {
			all = append(all, enumOf(node.Positional[position])...)
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, typed) })
	slices.Sort(all)
	return all
}

func childNamed(node *kong.Node, name string) *kong.Node {
	for _, c := range node.Children {
		if c.Name == name && !c.Hidden {
			return c
		}
	}
	return nil
}

// flagNamed finds a flag of the verb or of one above it. A word that brings its
// value along, --flag=value, opens nothing.
func flagNamed(node *kong.Node, word string) *kong.Flag {
	for n := node; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

func flagNames(node *kong.Node) []string {
	var names []string
	for n := node; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		}
	}
	return names
}

// enumOf lists the words that a value allows, none when any does.
func enumOf(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}
