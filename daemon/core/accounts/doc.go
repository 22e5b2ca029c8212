// Package accounts contains the accounts of users and groups: their quotas, and their use as fair
// share counts it. It also contains the lane. The lane is the account of jobs that go first because
// they have waited very long.
package accounts
