// Package outbox has the messages that users are owed and that are neither sent nor given up.
//
// Users take turns; how many of each and of all wait, and how many are on their way, is bounded.
package outbox
