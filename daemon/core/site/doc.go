// Package site is what a site decided, and what its machine is, as the scheduler needs to know it.
//
// It is values alone: daemon/supervise makes a Policy of the settings, and what is below daemon/core reads it.
package site
