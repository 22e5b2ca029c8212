// Package options holds the texts of all options for help, the manual and agents. They are not in the
// options' tags, since the parser reads all tags for each command line, and hardly any command line needs
// the texts.
package options
