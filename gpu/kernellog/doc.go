// Package kernellog follows the kernel log and reports the errors of NVIDIA's driver (Xids).
//
// It reads /dev/kmsg from the oldest record that the kernel still has, and then new records as they
// are written. If the kernel restricts reading (kernel.dmesg_restrict), the reader needs
// CAP_SYSLOG. A file or FIFO with lines of the same format also works, so that the package can be
// tested on machines without a kernel log of their own.
//
// It never writes to the log, starts a program or stores a report.
//
// Invariants, cited by tests:
//
//  1. Reports come in the order of the log. When the log is opened again, all of them come again,
//     with the same sequence numbers.
//  2. Records that were overwritten before they were read are skipped, and reading continues.
//  3. A log that cannot be read, or can no longer be read, is opened again and again as long as Run
//     runs. Trouble returns the reason meanwhile.
//  4. No content of the log makes the reader fail, or keep more than one record in memory.
//  5. Only records of the kernel itself are reports. Records that programs write to the log are
//     not.
package kernellog
