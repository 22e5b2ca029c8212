// Package export writes this machine, and others that it asks by ssh, as the files of a Slurm. It
// reads the hardware; package slurmsite makes the files.
package export
