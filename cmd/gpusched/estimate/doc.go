// Package estimate implements the command estimate and the options --llm. Both tell how much GPU
// memory a model needs. The package reads configuration files and the headers of weight files, and
// never runs a model.
package estimate
