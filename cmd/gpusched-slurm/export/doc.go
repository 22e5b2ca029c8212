// Package export writes the configuration files of a Slurm cluster that consists of this machine
// and of other machines, which it asks over ssh. It reads the hardware; package slurmsite makes the
// files.
package export
