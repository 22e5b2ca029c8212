// Package directory knows the accounts and groups of this machine. These include accounts of LDAP,
// SSSD or Active Directory, which are not in /etc/passwd and /etc/group. The package looks into
// these files first. For everything else it asks gpusched-accounts, and keeps the answers. That
// program has no rights. It asks the C library's name service, which is called the directory below.
//
// The kernel says which uid and which groups a client has. The directory only finds names for
// numbers, and numbers for names.
//
// Invariants, cited by tests:
//
//  1. Nothing waits longer than the time patience. If a wait ended without an answer, only starts
//     wait again until an answer comes. Nothing waits for a fact that the files have, with one
//     exception: whether an account of the files is in a group that only the directory has.
//  2. While the directory gives no answer, known names stay known. A known membership of a group
//     gives rights, and stays known for a day. Both stay known for an hour after the directory says
//     that they don't exist, because some modules say "not found" when their server is away. An
//     unknown account gives no rights.
//  3. An unanswered question is asked again every askAgain and not more often, unless a start
//     depends on it. If several names that one user asks for are unanswered, only one of them is
//     asked every askAgain. The same limit applies to the questions that nobody waits for.
//  4. The number of stored answers is bounded, and so is the number of questions in progress.
//  5. A user who asks for many names can't evict or delay the answers for other users. A question
//     without an answer delays no other account's name or rights, whoever asks it. Nor do
//     questions about the uids of somebody's containers, even if such a uid also belongs to another
//     user's account.
//  6. A start waits for an answer that is at most a second old. With an older answer, or none, no
//     job starts.
package directory
