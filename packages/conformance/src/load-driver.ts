import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Backend, type Driver, driverOf, needDriverContract } from '@quern/core';
import type { CreateBackend } from './conformance-options.js';
import { ConformanceError } from './error.js';

export type CreateDriver = () => Promise<Driver>;

/** What the kit needs of a module. `createBackend`: where the module exports it, unless another export was named. */
export interface Factories {
  readonly createDriver: CreateDriver;
  readonly createBackend?: CreateBackend;
}

type Exports = Readonly<Record<string, unknown>>;

const bad = (message: string, cause?: unknown) => new ConformanceError('BAD_MODULE', message, { cause });

/** Folder of an installed package, resolved from the working directory. Its package.json need not be exported. */
function installedFolder(name: string): string | undefined {
  const places = createRequire(join(process.cwd(), 'package.json')).resolve.paths(name) ?? [];
  return places.map((place) => join(place, name)).find((folder) => existsSync(join(folder, 'package.json')));
}

/** The module in the "quern" field of a package. */
function backendModule(folder: string): string {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) throw bad(`${folder} is a folder without a package.json`);
  const { quern } = JSON.parse(readFileSync(path, 'utf8')) as { quern?: { backend?: unknown } };
  if (typeof quern?.backend === 'string') return join(folder, quern.backend);
  throw bad(`${path} declares no backend: it needs "quern": {"backend": "./dist/index.js"}`);
}

/** The module of a target: a file, a package's folder, or an installed package's name. */
function locate(target: string): string {
  const path = resolve(target);
  const folder = existsSync(path) ? path : installedFolder(target);
  if (!folder) throw bad(`there is no file, folder or installed package '${target}'`);
  return statSync(folder).isDirectory() ? backendModule(folder) : folder;
}

async function load(module: string): Promise<Exports> {
  try {
    return (await import(pathToFileURL(module).href)) as Exports;
  } catch (cause) {
    throw bad(`${module} does not load: ${cause instanceof Error ? cause.message : cause}`, cause);
  }
}

type Factory = () => unknown;

/** The export that makes a driver or a backend. */
function factoryOf(module: string, exports: Exports, named: string | undefined): Factory {
  const names = named ? [named] : ['createDriver', 'createBackend', 'default'];
  for (const name of names) if (typeof exports[name] === 'function') return exports[name] as Factory;
  const there = Object.keys(exports).join(', ') || 'nothing';
  throw bad(
    `${module} exports no function ${names.join(', ')}; it exports ${there}. Name the one that makes a driver with --export`,
  );
}

const isDriver = (made: unknown): made is Driver =>
  typeof made === 'object' && made !== null && 'manifest' in made && 'memory' in made;

/** The driver itself, or the driver of a backend. @throws BackendError WRONG_CONTRACT */
function asDriver(made: unknown, module: string): Driver {
  if (isDriver(made)) {
    needDriverContract(made);
    return made;
  }
  const driver = typeof made === 'object' && made !== null && driverOf(made as Backend);
  if (driver) return driver;
  throw bad(
    `${module} makes neither a driver nor a backend of this copy of @quern/core: it must not bundle core, nor bring a copy of its own`,
  );
}

/**
 * Loads the factory of drivers from a file, a package's folder or an installed package. The module must export
 * `createDriver`, `createBackend` or a default function; `named` selects another export. Rejects with ConformanceError
 * BAD_MODULE.
 */
export async function loadDriver(target: string, named?: string): Promise<Factories> {
  const module = locate(target);
  const exports = await load(module);
  const make = factoryOf(module, exports, named);
  const { createBackend } = exports;
  const isTested = typeof createBackend === 'function' && (named ?? 'createBackend') === 'createBackend';
  return {
    createDriver: async () => asDriver(await make(), module),
    ...(isTested && { createBackend: createBackend as CreateBackend }),
  };
}
