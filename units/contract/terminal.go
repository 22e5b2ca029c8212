package contract

// HoldFlag has gpusched-job run the command that follows in a terminal and hold that
// (package units/terminal/hold). A job with a terminal is one with this command.
const HoldFlag = "--hold"

// LauncherPath is where the packages put gpusched-job.
const LauncherPath = "/usr/libexec/gpusched/gpusched-job"
