import { resolve } from 'node:path';
import { type Addon, loadAddon, platform } from './addon.js';

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

/**
 * Loads the addon of a backend of Quern. QUERN_<BACKEND>_BINARY: only this file. Otherwise: the local build, then the
 * prebuilt binary. Throws UNSUPPORTED, with all candidates tried, if no binary loads.
 */
export function loadBackendAddon({ backend, from, prebuilt, needs }: BackendPlaces): Addon {
  const variable = `QUERN_${backend.toUpperCase()}_BINARY`;
  const [name, file] = [`@quern/backend-${backend}`, `backend_${backend}.node`];
  const forced = process.env[variable];
  const usual = [
    resolve(from, '../../build/Release', file),
    () => ({ name: `${name}-${platform()}`, load: prebuilt?.[platform()] }),
  ];
  return loadAddon({
    packageName: name,
    from,
    candidates: forced ? [forced] : usual,
    help: [
      'If optional dependencies were skipped, install them: npm install --include=optional',
      `In a bundle: install ${name} beside it, or set ${variable} to the path of ${file}`,
      `To build it here (needs ${needs}): npx quern-backend-${backend} build`,
    ],
  });
}
