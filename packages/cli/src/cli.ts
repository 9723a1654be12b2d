#!/usr/bin/env node
import { program } from './program.js';
import { endOnBrokenOutput } from './terminal/broken-output.js';
import { report, say } from './terminal/report.js';

/** The event loop is empty but the work is pending: some backend's promise never settles. */
function endUnsettled(): void {
  say('quern: the work can never end: what it waits for, perhaps the backend, never answers (NEVER_SETTLES)');
  process.exit(1);
}

endOnBrokenOutput();
process.once('beforeExit', endUnsettled);
try {
  await program().parseAsync();
} catch (error) {
  report(error);
} finally {
  process.off('beforeExit', endUnsettled);
}
