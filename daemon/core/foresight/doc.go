// Package foresight makes forecasts for readers: when a job starts, how the GPUs will be used, and
// which changes of a job would start it sooner. daemon/core prepares them, and the readers compute
// them, outside of the core's goroutine.
package foresight
