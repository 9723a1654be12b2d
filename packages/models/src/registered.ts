import type { Architecture } from './architecture.js';
import { checkArchitecture } from './check-architecture.js';
import type { EncoderArchitecture } from './encoder/encoder.js';

/** An architecture from outside Quern. */
export interface RegisteredArchitecture {
  readonly architecture: Architecture | EncoderArchitecture;
  /** The package that brings it, if known. */
  readonly package?: string;
}

export interface RegisterOptions {
  /** The name of the package that brings the architecture. Messages name it. */
  readonly package?: string | undefined;
}

interface Shared {
  readonly list: RegisteredArchitecture[];
  /** The package whose module is being imported. */
  importing?: string | undefined;
}

/** All copies of this package (ESM, CommonJS, another version) share one list. */
const key = Symbol.for('@quern/models/architectures');

function shared(): Shared {
  const known: Shared | undefined = Reflect.get(globalThis, key);
  if (known) return known;
  const made: Shared = { list: [] };
  Object.defineProperty(globalThis, key, { value: made });
  return made;
}

/**
 * Adds an architecture: files with one of its names can then be opened, in every copy of @quern/models of this process.
 * It takes the place of Quern's own architecture of that name; loading such a model says so (`onNotice`). `accepts` of
 * the architecture restricts it to some files. A second architecture with the same `name` from the same package
 * replaces the first. Two packages may register one name: opening a file with that name then throws
 * DUPLICATE_ARCHITECTURE.
 * @throws ModelError BAD_ARCHITECTURE for an object that is no architecture
 */
export function registerArchitecture(
  architecture: Architecture | EncoderArchitecture,
  options: RegisterOptions = {},
): void {
  checkArchitecture(architecture);
  const { list, importing } = shared();
  const owner = options.package ?? importing;
  const entry = { architecture, ...(owner !== undefined && { package: owner }) };
  const at = list.findIndex((other) => isSame(other, entry));
  if (at < 0) list.push(entry);
  else list[at] = entry;
}

const isSame = (a: RegisteredArchitecture, b: RegisteredArchitecture): boolean =>
  a.architecture === b.architecture ||
  (a.package !== undefined && a.package === b.package && a.architecture.name === b.architecture.name);

/** The architectures from outside Quern, in the order of registration. */
export const registeredArchitectures = (): readonly RegisteredArchitecture[] => [...shared().list];

/**
 * Imports a package's module. Architectures that the module registers while it loads belong to the package.
 * @returns what `load` returns, and the architectures that were registered meanwhile
 */
export async function registeringFor<T>(
  name: string,
  load: () => Promise<T>,
): Promise<{ readonly result: T; readonly added: readonly RegisteredArchitecture[] }> {
  const state = shared();
  const before = [...state.list];
  state.importing = name;
  try {
    const result = await load();
    return { result, added: state.list.filter((entry) => !before.includes(entry)) };
  } finally {
    state.importing = undefined;
  }
}
