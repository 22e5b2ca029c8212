// Package host is the machine that the daemon stands on: its accounts, its
// memory, its processes, and how those parts of it are that scheduling needs.
//
// It decides nothing of jobs. Each Check… is a line of health, with what to do
// where the part fails; none waits for longer than a file, a disk or a call to
// systemd takes, and package daemon bounds that.
package host
