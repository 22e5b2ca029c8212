// Package options has the texts of all options. Help, the manual and agents use them. The texts are
// not in the options' tags: the parser reads all tags for each command line, and hardly any command
// line needs the texts.
package options
