// Package outbox holds the messages owed to users that are neither sent nor given up.
//
// Users take turns. The waiting messages of each user and of all users, and the messages on their
// way, are bounded.
package outbox
