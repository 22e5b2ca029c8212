// Package attach implements the commands that stay with a job: attach, exec and wait. It never
// changes a job unless the user asks to cancel it.
package attach
