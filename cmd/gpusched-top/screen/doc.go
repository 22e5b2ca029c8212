// Package screen is the user interface of gpusched-top. It has a model and draws frames from it.
// Keys, answers of the scheduler and the clock change the model. The package does no I/O: requests
// and commands are returned as effects, and a frame is text with styles.
//
// # Invariants
//
//  1. A frame contains no terminal control character, whatever the scheduler answers: all text goes
//     through line.put.
//  2. A frame has exactly as many lines as the screen, and no line is wider than the screen.
//  3. Whatever does not fit is counted or named on the frame.
package screen
