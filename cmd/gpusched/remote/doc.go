// Package remote runs gpusched on other machines by ssh, with the user's own ssh, keys and
// ~/.ssh/config. It sends a command line to the other gpusched. Ask gets the command's document as
// the answer, and Command gets printed text. The scheduler there sees an ordinary user: the account
// that ssh has logged in. So this package need not check any rights.
//
// Ask runs 'ssh HOST gpusched __document'. The other gpusched first prints a fixed line. Then Ask
// sends JSON: the words of the command line and, for a new job, the environment, directory, umask
// and key. So a program that is not gpusched gets no data, and a gpusched that has not printed the
// line has not got the request. The other side runs the command as it was typed, without settings
// and options that name machines, and prints the command's document. Messages for people go to its
// standard error. Its input stays open; the end of the input means that nobody waits for the answer
// any more.
//
// These things can go wrong:
//
//   - ssh is not installed, can't connect, or would have to ask a question. The result is an error
//     with ssh's message and a hint.
//   - There is no gpusched, or something else answers. The error says so.
//   - Nothing arrives within Patience. The error is "no answer within 10s".
//   - The machine begins to answer, but the answer is cut off. The result is a CutError. The
//     request may have been carried out.
//   - The other gpusched refuses the request, for example because an older version does not know an
//     option. The result is an Answer with the message and status.
//
// The package knows nothing about jobs. About machines, it knows only their names.
//
// Invariants:
//
//  1. The other machine's shell passes each word on as it was typed. The data of a new job, such as
//     its environment, is never on a command line.
//  2. ssh never asks a question. If a password or confirmation is needed, the error says so.
//  3. The other side's output is limited in size, and it is cleaned before it is shown.
//  4. If a machine does not answer within Patience, Ask gives up, and the error says what is known.
package remote
