// Package submit implements the commands that queue jobs: submit, run, shell, resubmit and screens.
// It makes requests from command lines, from the option lines of scripts and from files of jobs. It
// can queue jobs on other machines.
package submit
