import { resolve } from 'node:path';
import { type Addon, loadAddon } from './addon.js';
import type { AddonPlaces } from './binary/choose-addon.js';
import { platform } from './binary/system.js';

export interface BackendPlaces {
  /** 'cpu' of @quern/backend-cpu. */
  readonly backend: string;
  /** A file in the folder `dist` or `src` of the package. */
  readonly from: string;
  /** Loads the package with the prebuilt binary, by platform. Absent: `require` of the package's usual name. */
  readonly prebuilt?: Readonly<Record<string, () => Addon>>;
  /** What a build needs: 'CMake and a C++20 compiler'. */
  readonly needs: string;
}

/** Where the addon of a backend of Quern may be: for `loadAddon` and `describeBinary`. */
export function addonPlaces({ backend, from, prebuilt, needs }: BackendPlaces): AddonPlaces<Addon> {
  const variable = `QUERN_${backend.toUpperCase()}_BINARY`;
  const [packageName, file] = [`@quern/backend-${backend}`, `backend_${backend}.node`];
  const build = `To build it here (needs ${needs}): npx quern-backend-${backend} build`;
  const forced = process.env[variable];
  const common = { packageName, from, build, platforms: Object.keys(prebuilt ?? {}) };
  if (forced) {
    const advice = `Set ${variable} to a binary for ${platform()}, or unset it`;
    return { ...common, candidates: [{ name: resolve(forced), why: `${variable} names it`, advice }] };
  }
  return {
    ...common,
    candidates: [
      {
        name: resolve(from, '../../build/Release', file),
        why: 'it was built here',
        advice: `Build it again, or delete it. ${build}`,
      },
      () => ({
        name: `${packageName}-${platform()}`,
        load: prebuilt?.[platform()],
        why: 'the prebuilt package for this platform',
      }),
    ],
    help: [`In a bundle: install ${packageName} beside it, or set ${variable} to the path of ${file}`],
  };
}

/**
 * Loads the addon of a backend of Quern. QUERN_<BACKEND>_BINARY: only this file. Otherwise: the local build, then the
 * prebuilt binary. Throws UNSUPPORTED, with all candidates tried, if no binary loads.
 */
export const loadBackendAddon = (places: BackendPlaces): Addon => loadAddon(addonPlaces(places));
