// Package accounts has the accounts of users and groups: their quotas, their use as fair share
// counts it, and the lane of jobs that have waited long.
package accounts
