// Package client puts the command line together: its grammar, the choice of machine and engine for
// a command, help, completion and the manual. The commands are implemented in the packages look,
// past, logs, act, attach, submit, site, feed, tools and doctor. Package cli has the code that
// these share, and lists their invariants.
package client
