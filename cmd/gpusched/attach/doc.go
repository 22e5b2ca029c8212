// Package attach implements the commands that stay with a job: attach, exec and wait. It acts on a job
// only to cancel it at the user's request, and to make it accept commands.
package attach
