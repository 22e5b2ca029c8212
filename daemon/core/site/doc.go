// Package site is the site's policy and the facts about its machine that the scheduler needs.
//
// It holds values only: daemon/supervise makes a Policy of the settings, and daemon/core and the
// packages below it read the Policy.
package site
