import { exitStatus } from './terminal/exit-status.js';

/** How Node says that an import of one of our packages found no export, no module, or not the package. */
const unfitting = /'@quern\/[\w-]+' (does not provide an export|imported from)|subpath .*@quern/;

/** Says in a sentence that the packages of Quern beside `quern` do not fit; rethrows any other error. */
export function sayUnfitting(error: unknown): undefined {
  const text = error instanceof Error ? error.message : String(error);
  if (!unfitting.test(text)) throw error;
  process.stderr.write(
    `quern: the installed packages of Quern do not fit together: ${text.split('\n')[0]}. ` +
      'Update all of them: npm install quern@latest @quern/core@latest, and each @quern package of yours; quern doctor shows what is installed (VERSIONS_APART)\n',
  );
  process.exitCode = exitStatus.failed;
}
