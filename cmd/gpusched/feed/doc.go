// Package feed implements the commands that queue jobs of files and of other schedulers (import,
// watch and add), and the commands that carry jobs and settings to Slurm (migrate and export). It
// queues each line of a file once, however often the file is read.
package feed
