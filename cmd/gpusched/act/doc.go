// Package act has the commands that change jobs, GPUs, reservations and the daemon.
package act
