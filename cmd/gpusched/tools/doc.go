// Package tools is other tools' names for commands: aliases makes and removes them, and their words are read as ours
// with what lies around the tool.
package tools
