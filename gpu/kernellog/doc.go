// Package kernellog follows the kernel's log for what NVIDIA's driver reports
// of its GPUs (Xids).
//
// It reads /dev/kmsg, from the oldest record that the kernel still has, and
// then each as it is written. A reader needs the right to read it where the
// kernel restricts that (kernel.dmesg_restrict): CAP_SYSLOG. In place of it a
// file or a FIFO with lines of the same form will do, which is how machines
// without a kernel log of their own are tested.
//
// It never writes, never starts a program and never keeps a report.
//
// Invariants, cited by tests:
//
//  1. Reports come in the order of the log. After the log was opened again all
//     of them come again; their sequence numbers tell.
//  2. What was overwritten before it was read is skipped, and reading goes on.
//  3. A log that cannot be read, or stops being readable, is tried again for as
//     long as Run runs; Trouble says why meanwhile.
//  4. Nothing in the log makes the reader fail, or keep more than one record in
//     memory.
//  5. A report is the kernel's own: what programs write into the log is none.
package kernellog
