// Package attach has the commands that stay with a job: attach, exec and wait.
package attach
