// Package directory knows the accounts and groups of this machine, including those of LDAP, SSSD or
// Active Directory, which /etc/passwd and /etc/group do not have. The files come first. All else is
// asked of gpusched-accounts, a program without rights that asks the C library's name service, and
// is remembered.
//
// The kernel says who a client is and which groups it has. The directory only finds names for
// numbers, and numbers for names.
//
// Invariants, cited by tests:
//
//  1. Nothing waits longer than patience. After a wait without an answer only starts wait again,
//     until an answer comes. Nothing waits for what the files say, except for whether an account is
//     in a group that only the directory has.
//  2. While the directory gives no answer, names that were known stay known, and so does a group
//     that gives rights, for a day. Both stay known for an hour after the directory says that they
//     don't exist: some modules say "not found" when their server is away. An unknown account gives no
//     rights.
//  3. An unanswered question is asked again every askAgain and not more often, unless a start
//     depends on it. While the names that a user asks for are unanswered, one of them is asked
//     every askAgain. The same holds for the questions that nobody waits for.
//  4. The number of answers that are kept is bounded, and so is the number of questions under way.
//  5. A user who asks for many names can't evict or delay the answers of others. A question without
//     an answer, whoever asks it, delays no others: neither their names nor their rights. The same
//     holds for the uids of the user's containers, some of which may be accounts of others.
//  6. A start relies on an answer of the last second, and waits for it: with an older answer, or
//     none, no job starts.
package directory
