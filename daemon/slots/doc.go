// Package slots bounds how many callers of each key do something at once, such as
// the requests of each user; the others wait for their turn.
package slots
