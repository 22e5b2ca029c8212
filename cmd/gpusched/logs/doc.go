// Package logs has the command logs: it reads what jobs printed, in the journal or in their files, and follows it.
package logs
