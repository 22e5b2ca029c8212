// Package remote reaches the scheduler of another machine by ssh: the user's own ssh, with their keys
// and their ~/.ssh/config. It starts 'ssh HOST gpusched dial-stdio' and has, as a connection, what that
// says and hears, which is what the scheduler's socket there does. To the scheduler it is the account
// that ssh has logged in, so rights need no thought here.
//
// It knows nothing of jobs, and of several machines no more than their names.
//
// Invariants:
//
//  1. Nothing a user typed is read by a shell of the other machine: the words of a command travel as
//     one word of letters and digits.
//  2. ssh never asks: what needs a password or a yes is an error that says so.
//  3. What the other side says before the connection stands is text to be cleaned, and at most so much.
//  4. Until the other side has greeted, nothing of a request has been sent.
package remote
