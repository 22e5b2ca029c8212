// Package remote runs gpusched on other machines by ssh: the user's own ssh, with their keys and their
// ~/.ssh/config. Whatever is asked is a command line for the gpusched there, which answers as it answers
// anybody: with the document of the command (Ask), or with what it prints (Command). To the scheduler there it
// is the account that ssh has logged in, so rights need no thought here.
//
// A document takes this way: the words of the command line, and of a new job its environment, directory, umask and
// key, go as JSON to the input of 'ssh HOST gpusched __document', once that has printed the line with which it
// begins: what is not gpusched is told nothing, and what has not begun has not been asked. It then runs the command
// as it was typed, but for the settings and options that name machines, and prints its document. What it says on
// standard error is for people. Its input stays open: the end of it tells that nobody waits any more.
//
// What can go wrong, and what becomes of it:
//
//   - ssh is not installed, can't connect, or would have to ask: an error with what ssh said and what helps.
//   - There is no gpusched, or something else answers: an error that says so.
//   - Nothing has come after Patience: "no answer within 10s".
//   - It ends without an answer after it has been reached: a CutError. What was asked may have been done.
//   - The gpusched there refuses, as an older one an option that it does not know: an Answer with its words and status.
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
