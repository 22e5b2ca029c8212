// Package export writes the configuration files of a Slurm cluster that consists of this machine,
// and of others that it asks over ssh. It reads the hardware; package slurmsite makes the files.
package export
