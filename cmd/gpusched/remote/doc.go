// Package remote runs gpusched on other machines by ssh: the user's own ssh, with their keys and their
// ~/.ssh/config. Whatever is asked is a command line for the gpusched there, which answers as it answers
// anybody: with the document of the command (Ask), or with what it prints (Command). To the scheduler there it
// is the account that ssh has logged in, so rights need no thought here.
//
// It knows nothing of jobs, and of several machines no more than their names.
//
// Invariants:
//
//  1. A shell of the other machine hands on each word as it was typed. What belongs to a new job, such as its
//     environment, is on no command line.
//  2. ssh never asks: what needs a password or a yes is an error that says so.
//  3. What the other side says is text to be cleaned, and at most so much.
//  4. A machine that does not answer is left after Patience, and the error says what is known of it.
package remote
