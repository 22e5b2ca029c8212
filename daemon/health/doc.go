// Package health says what is wrong with the GPUs of a view, and what to do about it. It reads the
// view alone, and changes nothing.
package health
