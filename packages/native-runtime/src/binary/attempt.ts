import type { FileFault } from './fault.js';

/** A binary that was looked for and did not load. */
export interface Attempt {
  /** A path, or a package. */
  readonly name: string;
  /**
   * absent: no such file. no-package: no package is made for this platform. not-installed, lockfile: the package of this platform is
   * missing. The others: as of files.
   */
  readonly kind: FileFault['kind'] | 'absent' | 'no-package' | 'not-installed' | 'lockfile';
  /** A clause after the name: 'is not installed: …'. */
  readonly message: string;
  /** What helps: a sentence with a command. */
  readonly advice?: string | undefined;
}

/** What helps where a package manager left out or damaged a package. */
export const remedies = {
  optional: 'Install it: npm install --include=optional',
  otherSystem: 'Delete node_modules, and install on this system: npm install',
  lockfile: 'Delete node_modules and package-lock.json, and install on this system: npm install',
  damaged: 'Delete node_modules, and install again: npm install',
} as const;
