// Package host reads the machine that the daemon runs on: its accounts, its memory, its processes,
// and the state of the parts that scheduling needs.
//
// The package decides nothing about jobs. Each function Check… returns a line of health, with
// advice if the part fails. A check may wait for a file, a disk or a call to systemd, but for
// nothing else. Package daemon limits that time.
package host
