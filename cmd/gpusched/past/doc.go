// Package past implements the commands about the past: history, report and usage. It changes
// nothing.
package past
