import type { Attempt } from './attempt.js';
import { type AddonPlaces, chooseAddon, decisive } from './choose-addon.js';
import { platform } from './system.js';

/** Which binary a package takes, and why: for bug reports. JSON can hold it. */
export interface BinaryDescription {
  /** '@quern/backend-cpu'. */
  readonly packageName: string;
  /** 'linux-x64-gnu'. */
  readonly platform: string;
  /** The binary that loads: its path or package, and its file where Node finds one. Absent: none loads. */
  readonly chosen?: { readonly name: string; readonly file?: string | undefined };
  /** One sentence: why this binary, or why none. */
  readonly reason: string;
  /** What helps: a sentence with a command. Absent where a binary loads. */
  readonly advice?: string | undefined;
  /** Binaries that are preferred to the chosen one and do not load, best first. */
  readonly tried: readonly Attempt[];
}

/** One sentence and what helps, where no binary loads. */
export function failureOf({ packageName }: { packageName: string }, tried: readonly Attempt[]) {
  const attempt = decisive(tried);
  const because = attempt ? `${attempt.name} ${attempt.message}` : 'there is no place to look for one';
  return { reason: `${packageName} has no binary for ${platform()}: ${because}`, advice: attempt?.advice };
}

/** Loads the binary as `loadAddon` does, and says which one that is. Does not throw where none loads. */
export function describeBinary<A>(places: AddonPlaces<A>): BinaryDescription {
  const { packageName } = places;
  const { loaded, tried } = chooseAddon(places);
  const common = { packageName, platform: platform(), tried };
  if (!loaded) return { ...common, ...failureOf(places, tried) };
  const { name, file, why } = loaded;
  return {
    ...common,
    chosen: { name, file },
    reason: `${packageName} takes ${name}${why ? `: ${why}` : ''}`,
  };
}
