// Package host reads the machine that the daemon runs on: its accounts, its memory, its processes,
// and the state of the parts that scheduling needs.
//
// It decides nothing about jobs. Each function Check… returns a line of health, with advice if the
// part fails. None of them waits for more than a file, a disk or a call to systemd; package daemon
// bounds the time.
package host
