import type { Backend } from './backend.js';
import type { DeviceDescription } from './device-profile.js';

/** A backend that a program imports, so that bundlers see it, instead of Quern finding it in a package.json. */
export interface RegisteredBackend {
  /** The name of its package. */
  readonly package: string;
  /** false: 'auto' does not load it; it must be asked for by name. */
  readonly auto?: boolean | undefined;
  createBackend(options: object): Promise<Backend>;
  /** The devices of this machine, of packages that support more than one. */
  devices?(): Promise<readonly DeviceDescription[]>;
}

/** All copies of this package (ESM, CommonJS, bundled) share one list. */
const key = Symbol.for('@quern/core/registered-backends');

function listed(): Map<string, RegisteredBackend> {
  const known: unknown = Reflect.get(globalThis, key);
  if (known instanceof Map) return known;
  const list = new Map<string, RegisteredBackend>();
  Object.defineProperty(globalThis, key, { value: list });
  return list;
}

/** Makes a backend known to every `loadModel` of this process. A second one of the same package replaces the first. */
export function registerBackend(backend: RegisteredBackend): void {
  listed().set(backend.package, backend);
}

/** In the order of registration. */
export const registeredBackends = (): readonly RegisteredBackend[] => [...listed().values()];
