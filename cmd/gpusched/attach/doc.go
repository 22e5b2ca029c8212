// Package attach implements the commands that stay with a job: attach, exec and wait. It changes a
// job in two cases only: it cancels a job at the user's request, and it makes a job accept
// commands.
package attach
