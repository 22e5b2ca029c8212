// Package submit has the commands that queue jobs: submit, run, shell, resubmit and screens. It makes requests of
// command lines, of scripts and of the lines of a file, and queues on other machines.
package submit
