// Package look implements the commands that show the present state and the reasons for it: list,
// show, status, gpus, why, events and health. They work for one machine or several.
package look
