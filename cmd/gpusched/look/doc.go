// Package look has the commands that show what is there now and why: list, show, status, gpus, why, events and health,
// of one machine or of several.
package look
