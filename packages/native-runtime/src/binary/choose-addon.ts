import { existsSync } from 'node:fs';
import module from 'node:module';
import { isAbsolute, join } from 'node:path';
import { type Attempt, remedies } from './attempt.js';
import { cutOff, faultOfFile } from './fault.js';
import { whyMissing } from './missing-package.js';
import { platform, thisSystem } from './system.js';

/** A path or a package, and how to load it; absent: `require` of its name. */
export interface AddonCandidate<A> {
  readonly name: string;
  readonly load?: (() => A) | undefined;
  /** Why it is preferred to the next candidate, for reports: 'built on this machine'. */
  readonly why?: string | undefined;
  /** What helps where this file does not load: 'Build it again: …'. */
  readonly advice?: string | undefined;
}

/** Where to look for a package's binary. */
export interface AddonPlaces<A> {
  /** The package that needs the binary, for error messages. */
  readonly packageName: string;
  /** Path of the package's module: the start of package resolution. */
  readonly from: string;
  /** Paths and packages, best first. A function: computed only if the earlier candidates fail. */
  readonly candidates: readonly (string | AddonCandidate<A> | (() => string | AddonCandidate<A>))[];
  /** Platforms for which `<packageName>-<platform>` is published. */
  readonly platforms?: readonly string[] | undefined;
  /** How to compile the addon here, in a sentence. */
  readonly build?: string | undefined;
  /** Further advice for the error message, one line each. */
  readonly help?: readonly string[] | undefined;
}

/** The binary that loads, and those that do not. */
export interface Choice<A> {
  readonly loaded?: {
    readonly addon: A;
    readonly name: string;
    readonly file?: string | undefined;
    readonly why?: string | undefined;
  };
  /** In order of preference, all better than the one that loads. */
  readonly tried: readonly Attempt[];
}

/** Of an error of `require`, without Node's advice about the "main" of a package.json: a path to a binary has none. */
const firstLine = (error: unknown): string =>
  String((error as Error).message)
    .split('\n')[0]!
    .replace(/\. Please verify that the package\.json has .*$/, '');

/** The path that `name` resolves to. */
function resolved(require: NodeJS.Require, name: string): string | undefined {
  try {
    return require.resolve(name);
  } catch {
    return undefined;
  }
}

function whyPackage<A>(require: NodeJS.Require, name: string, places: AddonPlaces<A>) {
  const { packageName, from, platforms = [], build = '' } = places;
  const isInstalled = (each: string) => resolved(require, join(each, 'package.json')) !== undefined;
  if (isInstalled(name))
    return {
      kind: 'damaged',
      message: 'is damaged: its binary is missing',
      advice: remedies.damaged,
    } as const;
  if (platforms.length === 0) return { kind: 'not-installed', message: 'is not installed' } as const;
  return whyMissing({ packageName, platforms, platform: platform(), from, build, isInstalled });
}

/** What helps where a file of an installed package does not load. */
function adviceOf(kind: Attempt['kind'], build: string | undefined): string | undefined {
  if (kind === 'damaged') return remedies.damaged;
  if (kind === 'platform' || kind === 'libc') return remedies.otherSystem;
  return build && `Use a newer system, or build it here. ${build}`;
}

/** Why a candidate did not load. */
function attemptOf<A>(candidate: AddonCandidate<A>, error: unknown, places: AddonPlaces<A>): Attempt {
  const { name, advice } = candidate;
  const require = module.createRequire(places.from);
  const file = resolved(require, name);
  const said = firstLine(error);
  if (file === undefined && isAbsolute(name))
    return { name, kind: 'absent', message: existsSync(name) ? said : 'does not exist', advice };
  if (file === undefined) return { name, ...whyPackage(require, name, places) };
  const { kind, message } = faultOfFile(file, thisSystem(), said);
  return { name, kind, message, advice: advice ?? adviceOf(kind, places.build) };
}

/** Loads the first binary that loads; remembers why the better ones did not. */
export function chooseAddon<A>(places: AddonPlaces<A>): Choice<A> {
  const require = module.createRequire(places.from);
  const tried: Attempt[] = [];
  for (const each of places.candidates) {
    const given = typeof each === 'function' ? each() : each;
    const candidate: AddonCandidate<A> = typeof given === 'string' ? { name: given } : given;
    const { name, load, why } = candidate;
    const file = resolved(require, name);
    try {
      if (file !== undefined && cutOff(file, thisSystem())) throw new Error('the file is cut off');
      const addon: A = load ? load() : require(name);
      return { loaded: { addon, name, file, why }, tried };
    } catch (error) {
      tried.push(attemptOf(candidate, error, places));
    }
  }
  return { tried };
}

/** The attempt that explains a failure: the first file or package that should load. */
export const decisive = (tried: readonly Attempt[]): Attempt | undefined =>
  tried.find(({ kind }) => kind !== 'absent') ?? tried.at(-1);
