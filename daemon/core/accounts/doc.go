// Package accounts has the accounts of users and groups: their quotas, what fair share counts of them, and the lane
// of those that have waited long.
package accounts
