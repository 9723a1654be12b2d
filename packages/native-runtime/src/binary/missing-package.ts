import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Attempt, remedies } from './attempt.js';

/** A package with a prebuilt binary that Node does not find. */
export interface MissingPackage {
  /** '@quern/backend-cpu'. */
  readonly packageName: string;
  /** Platforms with a prebuilt package: 'linux-x64-gnu'. */
  readonly platforms: readonly string[];
  /** Platform of this process. */
  readonly platform: string;
  /** A file of the package: its module. */
  readonly from: string;
  /** The command that compiles the addon here, with what it needs. */
  readonly build: string;
  readonly isInstalled: (name: string) => boolean;
}

type Reason = Pick<Attempt, 'kind' | 'message' | 'advice'>;

/** The nearest package-lock.json above a file. */
function lockfileAbove(path: string): string | undefined {
  const folder = dirname(path);
  const file = join(folder, 'package-lock.json');
  if (existsSync(file)) return file;
  return folder === path ? undefined : lockfileAbove(folder);
}

/** npm keeps the optional packages of the platform that wrote the lockfile, and of no other. */
function lockfileWithout({ packageName, platform, from }: MissingPackage): string | undefined {
  const file = lockfileAbove(from);
  if (file === undefined) return undefined;
  const text = readFileSync(file, 'utf8');
  const lists = (name: string) => text.includes(`node_modules/${name}"`);
  return lists(packageName) && !lists(`${packageName}-${platform}`) ? file : undefined;
}

/** Why the package of this platform is not there, and what helps. */
export function whyMissing(missing: MissingPackage): Reason {
  const { packageName, platforms, platform, build, isInstalled } = missing;
  if (!platforms.includes(platform))
    return {
      kind: 'no-package',
      message: `does not exist; there are packages for ${platforms.join(', ')}`,
      advice: build,
    };
  const other = platforms.find((each) => isInstalled(`${packageName}-${each}`));
  if (other)
    return {
      kind: other.split('-')[2] && other.startsWith(platform.split('-', 2).join('-')) ? 'libc' : 'platform',
      message: `is not installed; ${packageName}-${other} is, for another system`,
      advice: remedies.otherSystem,
    };
  const lockfile = lockfileWithout(missing);
  if (lockfile)
    return {
      kind: 'lockfile',
      message: `is not installed: ${lockfile} does not list it, and was written on another platform`,
      advice: remedies.lockfile,
    };
  return {
    kind: 'not-installed',
    message: 'is not installed: optional dependencies were left out (--omit=optional, --no-optional)',
    advice: remedies.optional,
  };
}
