// Package estimate implements the command estimate and the options --llm, which tell how much GPU
// memory a model needs. It reads configuration files and the headers of weights, and never runs a
// model.
package estimate
