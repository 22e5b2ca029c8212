// Package client assembles the command line: its grammar, the choice of machine and engine for a
// command, help, completion and the manual. Each command is implemented in its own room: look,
// past, logs, act, attach, submit, site, feed, tools or doctor. Package cli has what they share,
// and lists the invariants of all.
package client
