// Package client is the command line as a whole: its grammar, on which machine and by which engine a command is carried
// out, help, completion and the manual. What a command does is in the room that has it: look, past, logs, act, attach,
// submit, site, feed, tools or doctor; package cli has what they share, and the invariants of all.
package client
