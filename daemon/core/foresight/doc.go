// Package foresight is forecasts for readers: when a job starts, what becomes of the GPUs, and which changes of a
// job would start it sooner. daemon/core makes them, and whoever asks carries them out, outside of its goroutine.
package foresight
