// Package past has the commands about what was: history, report and usage.
package past
