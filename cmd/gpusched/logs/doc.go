// Package logs implements the command logs: it prints what jobs printed, from the journal or from
// their log files, and follows it. It reads only what the caller may read, with the caller's own
// rights.
package logs
