// Package directory knows the accounts and groups of this machine, also those that
// /etc/passwd and /etc/group do not have: LDAP, SSSD, Active Directory. What the
// files know is theirs to say. The rest is asked of gpusched-accounts, a program
// without rights that asks the C library's name service, and is remembered.
//
// Who a client is, and which groups it has, the kernel says: the directory only
// gives names to numbers, and numbers to names.
//
// Invariants, cited by tests:
//
//  1. Nothing waits longer than patience, and nothing at all while the directory
//     gives no answer, or for an account that the files have.
//  2. What was once known stays so while the directory gives no answer, and for
//     an hour after it no longer knows it: some modules say "not found" when
//     their server is away.
//  3. While there is no answer one question is asked every askAgain, not more.
//  4. What is remembered is bounded, and so are the questions under way.
package directory
