// Package estimate has the command estimate and the options --llm: how much memory of a GPU a model takes.
package estimate
