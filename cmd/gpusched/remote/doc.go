// Package remote runs gpusched on other machines by ssh, the user's own, with the user's keys and
// ~/.ssh/config. It sends a command line to the gpusched there, which answers as it would answer
// anybody: with the command's document (Ask), or with printed text (Command). To the scheduler
// there, the client is the account that ssh has logged in, so rights need no thought here.
//
// Ask runs 'ssh HOST gpusched __document'. Once that has printed the line with which it begins, Ask
// sends it JSON: the words of the command line and, for a new job, the environment, directory,
// umask and key. So a program that is not gpusched is told nothing, and a gpusched that has not
// begun has not been asked. The other side runs the command as it was typed, except for settings
// and options that name machines, and prints its document. Its standard error is for people. Its
// input stays open, and the end of input tells it that nobody waits any more.
//
// These things can go wrong:
//
//   - ssh is not installed, can't connect, or would have to ask: an error with ssh's message and a
//     hint.
//   - There is no gpusched, or something else answers: an error that says so.
//   - Nothing has come after Patience: "no answer within 10s".
//   - It was reached but ended without an answer: a CutError. The request may have been carried
//     out.
//   - The gpusched there refuses, for example an option that an older one does not know: an Answer
//     with its message and status.
//
// The package knows nothing about jobs, and only the names of machines.
//
// Invariants:
//
//  1. A shell of the other machine passes each word on as it was typed. What belongs to a new job,
//     such as its environment, is never on a command line.
//  2. ssh never asks: a password or a confirmation that is needed becomes an error that says so.
//  3. The other side's output is cleaned before it is shown, and bounded.
//  4. A machine that does not answer is given up after Patience, and the error says what is known.
package remote
