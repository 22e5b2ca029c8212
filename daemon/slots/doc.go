// Package slots limits how many callers with the same key do something at the same time, for
// example how many requests of one user are served. Further callers wait for their turn.
package slots
