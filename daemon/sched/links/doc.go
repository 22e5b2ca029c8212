// Package links chooses among whole GPUs that would all serve a job: by their kind, by foreign
// processes on them, and by the links among them.
package links
