//go:build !race

package store

const slower = 1
