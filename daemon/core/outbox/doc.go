// Package outbox holds the messages that are owed to users: those that are neither sent nor given
// up.
//
// Users take turns. The numbers of waiting messages, of each user and of all users, and of messages
// being sent are bounded.
package outbox
