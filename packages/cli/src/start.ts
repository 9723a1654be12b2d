import { home } from './home/home.js';
import { program } from './program.js';
import { endOnBrokenOutput } from './terminal/broken-output.js';
import { exitStatus } from './terminal/exit-status.js';
import { report, say } from './terminal/report.js';

/** The event loop is empty but the work is pending: some backend's promise never settles. */
function endUnsettled(): void {
  say('quern: the work cannot end: a promise, perhaps of the backend, never settles (NEVER_SETTLES)');
  process.exit(exitStatus.failed);
}

/** Runs the command of the process's arguments; without any, shows what is here. */
export async function start(): Promise<void> {
  endOnBrokenOutput();
  process.once('beforeExit', endUnsettled);
  try {
    await (process.argv.length > 2 ? program().parseAsync() : home());
  } catch (error) {
    report(error);
  } finally {
    process.off('beforeExit', endUnsettled);
  }
}
