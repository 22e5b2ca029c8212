// Package site contains the site's policy, and the facts about its machine that the scheduler
// needs.
//
// It contains only values. daemon/supervise makes a Policy from the settings. daemon/core and the
// packages below it read the Policy.
package site
