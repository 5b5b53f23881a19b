package main

import (
	"cmp"
	_ "embed"
	"strings"

	"github.com/alecthomas/kong"
)

// helpFile has the help of commands, flags and arguments: a section for each command, and one for
// what several commands share. Lines that begin with a $ are the examples of a command.
//
//go:embed help.txt
var helpFile string

// helpTexts parses the help by names such as "train" and "train --env", and the examples by
// command.
func helpTexts() (texts, examples map[string]string) {
	texts, examples = map[string]string{}, map[string]string{}
	command, key := "", ""
	for line := range strings.SplitSeq(helpFile, "\n") {
		name, text, _ := strings.Cut(line, "  ")
		switch {
		case line == "":
		case line[0] == '[':
			command = strings.Trim(line, "[]")
			key = command
		case line[0] == '$':
			examples[command] += "\n  " + line[2:]
		case line[0] == ' ':
			texts[key] += " " + strings.TrimSpace(line)
		case line[0] == '-' || line[0] == '<':
			key = command + " " + name
			texts[key] = text
		default:
			texts[key] = line
		}
	}
	return texts, examples
}

func addHelp(parser *kong.Kong) {
	texts, examples := helpTexts()
	var add func(*kong.Node)
	add = func(n *kong.Node) {
		command := n.Path()
		text := func(name string) string { return cmp.Or(texts[command+" "+name], texts["* "+name]) }
		n.Help = cmp.Or(n.Help, texts[command]) // the program has a description
		for _, argument := range n.Positional {
			argument.Help = text("<" + argument.Name + ">")
		}
		for _, flag := range n.Flags {
			flag.Help = cmp.Or(flag.Help, text("--"+flag.Name)) // kong has the text of --help
		}
		if lines := examples[command]; lines != "" {
			n.Detail = "For example:\n" + lines
		}
		for _, child := range n.Children {
			add(child)
		}
	}
	add(parser.Model.Node)
}
