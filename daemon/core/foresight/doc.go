// Package foresight makes forecasts for readers: when a job starts, how the GPUs will be used, and
// which changes would make a job start sooner. daemon/core prepares a forecast, and the readers
// compute the forecast outside of the core's goroutine.
package foresight
