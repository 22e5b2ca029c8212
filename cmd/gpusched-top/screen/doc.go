// Package screen is what gpusched-top shows and does: a model of the screen that keys, answers of
// the scheduler and the clock change, and the frame that is drawn of it. It is pure: what is to be
// asked, run or ended it returns as effects, and a frame is text with styles.
//
// # Invariants
//
//  1. Whatever the scheduler answers, no character of a frame is one that a terminal acts on: all
//     text goes through line.put.
//  2. No line of a frame is wider than the screen, and there are as many as it has.
//  3. What does not fit is counted or named on the frame.
package screen
