import { exitStatus } from './exit-status.js';
import { say } from './report.js';

/** Ends the program if stdout cannot be written: silently for a closed pipe (`| head`), else with one line. */
export function endOnBrokenOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit();
    say(`quern: standard output cannot be written (${error.code ?? error.message})`);
    process.exit(exitStatus.failed);
  });
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? undefined : exitStatus.failed);
  });
}
