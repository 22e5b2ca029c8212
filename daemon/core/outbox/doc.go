// Package outbox holds the messages that are owed to users: those that are neither sent nor given
// up.
//
// Users take turns. Three numbers are bounded: the waiting messages of each user, the waiting
// messages of all users, and the messages being sent.
package outbox
