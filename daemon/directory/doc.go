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
//  1. Nothing waits longer than patience. After a wait in vain only starts wait again, until an
//     answer comes. What the files say is never waited for, except whether an account
//     is in a group that only the directory has.
//  2. A name that was once known stays so while the directory gives no answer, a
//     group that gives rights for a day; both for an hour after it no longer knows
//     them: some modules say "not found" when their server is away. What is not
//     known gives no right.
//  3. What goes unanswered is asked again every askAgain and not more often, unless a start rests
//     on it. While names that somebody asks for go unanswered, one of them is asked for every
//     askAgain; so is one of the questions for which nobody waits.
//  4. What is remembered is bounded, and so are the questions under way.
//  5. Who asks for many names has nobody else's forgotten or put off, and what goes unanswered,
//     whoever asks for it, keeps no answer from others: neither their names nor their rights.
//     That holds for the uids of its containers too, some of which may be accounts of others.
//  6. A start rests on what was said within the last moment, for as long as it takes: an
//     older answer, or none, starts nothing.
package directory
