// Package tools runs gpusched under the names of other tools. The command aliases installs and
// removes these names. Translate translates the tools' command lines, including the settings and
// files that the tools read.
package tools
