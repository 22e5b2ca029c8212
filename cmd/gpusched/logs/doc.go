// Package logs implements the command logs, which prints and follows the output of jobs. It reads
// the journal or the jobs' log files. It opens these with the caller's own rights, so it reads only
// what the caller may read.
package logs
