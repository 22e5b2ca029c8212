// Package tools runs gpusched under the names of other tools: aliases installs and removes the
// names, and Translate translates their command lines, including the settings and files that those
// tools read.
package tools
