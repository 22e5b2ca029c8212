// Package slots limits how many callers with the same key do something at once, for example the
// requests of one user. The others wait for their turn.
package slots
