// Package logs implements the command logs, which prints and follows the output of jobs. It reads
// the journal or the jobs' log files. It opens the journal and the files with the caller's own
// rights, so it reads only what the caller may read.
package logs
