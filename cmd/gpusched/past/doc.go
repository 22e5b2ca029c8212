// Package past implements the commands about the past: history, report and usage. They only read.
package past
