/** Exit statuses of every command. Scripts depend on them: packages/cli/README.md has their table. */
export const exitStatus = {
  done: 0,
  /** Errors of every kind; their codes tell them apart. */
  failed: 1,
  /** Ctrl-C: 128 + the number of SIGINT. */
  SIGINT: 130,
  SIGTERM: 143,
} as const;

/** For the help of `quern`. */
export const exitHelp = `Exit status: ${exitStatus.done} done, ${exitStatus.failed} an error, ${exitStatus.SIGINT} Ctrl-C, ${exitStatus.SIGTERM} SIGTERM; quern serve that is stopped: ${exitStatus.done}.`;
