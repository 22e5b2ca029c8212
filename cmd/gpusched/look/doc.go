// Package look has the commands that show the present state and its reasons: list, show, status,
// gpus, why, events and health, for one machine or several.
package look
