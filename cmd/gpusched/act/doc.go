// Package act has the commands that change jobs, GPUs, reservations and the daemon, and does something to many jobs at
// once.
package act
