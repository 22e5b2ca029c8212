// Package accounts contains the accounts of users and groups: their quotas, and their use as fair
// share counts it. It also contains the lane, the account of jobs that have waited so long that
// they go first.
package accounts
