// Package screen is the user interface of gpusched-top: a model that keys, answers of the scheduler
// and the clock change, and the frame drawn from it. It does no I/O: requests and commands are
// returned as effects, and a frame is text with styles.
//
// # Invariants
//
//  1. A frame contains no terminal control character, whatever the scheduler answers: all text goes
//     through line.put.
//  2. A frame has exactly as many lines as the screen, and no line is wider than it.
//  3. Whatever does not fit is counted or named on the frame.
package screen
