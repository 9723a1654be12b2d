import { checkArgument, rules } from '@quern/core';
import {
  type KnownArchitecture,
  knownArchitectures,
  ModelError,
  registerArchitecture,
  registeringFor,
} from '@quern/models';
import { badArgument, messageOf } from '../error.js';
import { giveNotice, type NoticeListener } from '../notice.js';
import { applicationFolders, type QuernPackage, quernPackages } from './application.js';
import { importModule } from './import-module.js';

/** A package that brings architectures, or the reason why it does not. */
export type ArchitectureReport =
  | { readonly package: string; readonly architectures: readonly KnownArchitecture[] }
  | { readonly package: string; readonly error: string };

/** Packages that this process has loaded, by module. Their architectures stay registered. */
const loads = new Map<string, Promise<ArchitectureReport>>();
/** One package loads at a time: what it registers meanwhile is its own. */
let last: Promise<unknown> = Promise.resolve();

function load({ name, folder, quern }: QuernPackage): Promise<ArchitectureReport> {
  const path = quern.architectures!;
  const key = `${folder}\0${path}`;
  const known = loads.get(key);
  if (known) return known;
  const loading = last.then(() => loadOne(name, folder, path));
  loads.set(key, loading);
  last = loading;
  return loading;
}

const ofPackage = (name: string): readonly KnownArchitecture[] =>
  knownArchitectures().filter((known) => known.package === name);

async function loadOne(name: string, folder: string, path: string): Promise<ArchitectureReport> {
  if (ofPackage(name).length > 0) return { package: name, architectures: ofPackage(name) }; // imported by the program, or from another folder
  try {
    const { result, added } = await registeringFor(name, () => importModule(folder, path));
    const exported = listIn(result);
    if (!exported && added.length === 0)
      return { package: name, error: `${path} must export a list named architectures` };
    for (const architecture of exported ?? []) registerArchitecture(architecture, { package: name });
    return { package: name, architectures: ofPackage(name) };
  } catch (cause) {
    return { package: name, error: messageOf(cause) };
  }
}

type ArchitectureList = readonly Parameters<typeof registerArchitecture>[0][];

/** The export `architectures` of a module, or of the default export of a CommonJS module. */
function listIn(module: unknown): ArchitectureList | undefined {
  const { architectures, default: other } = module as {
    readonly architectures?: unknown;
    readonly default?: { readonly architectures?: unknown };
  };
  const list = architectures ?? other?.architectures;
  return Array.isArray(list) ? list : undefined;
}

/**
 * Loads the packages that declare architectures ("quern": {"architectures": "./dist/index.js"} in their package.json)
 * among the application's dependencies, each once per process.
 * @returns a report per package; a package that does not load is an error in its report
 * @throws RuntimeError BAD_ARGUMENT
 */
export async function loadArchitectures(resolveFrom?: string): Promise<readonly ArchitectureReport[]> {
  if (resolveFrom !== undefined)
    checkArgument('loadArchitectures', 'resolveFrom', resolveFrom, rules.text, badArgument);
  const declared = quernPackages(resolveFrom).filter(({ quern }) => typeof quern.architectures === 'string');
  return Promise.all(declared.map(load));
}

/** Who opens a model file. */
export interface Opener {
  readonly resolveFrom?: string | undefined;
  readonly onNotice?: NoticeListener;
}

/** Opens a model file, whose architecture may come from a package. */
export async function withArchitectures<T>(
  { resolveFrom, onNotice }: Opener,
  open: () => Promise<T>,
): Promise<T> {
  const reports = await loadArchitectures(resolveFrom);
  for (const report of reports) noticeOnce(report, onNotice);
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof ModelError && error.code === 'UNKNOWN_ARCHITECTURE')) throw error;
    throw new ModelError(error.code, `${error.message}. ${searched(reports, resolveFrom)}`, { cause: error });
  }
}

const noticed = new WeakSet<ArchitectureReport>();

/** A package that does not load may be meant to replace an architecture of Quern's. */
function noticeOnce(report: ArchitectureReport, onNotice: NoticeListener): void {
  if (!('error' in report) || noticed.has(report)) return;
  noticed.add(report);
  giveNotice(onNotice, `the architectures of ${report.package} do not load: ${report.error}`);
}

/** Part of messages: where packages were looked for, and what they bring. */
function searched(reports: readonly ArchitectureReport[], resolveFrom: string | undefined): string {
  const folders = applicationFolders(resolveFrom).join(', ') || (resolveFrom ?? process.cwd());
  const bundled = "In a bundle or a traced deployment import the package's /register: docs/guide/bundlers.md";
  if (reports.length === 0)
    return `No package in the dependencies of ${folders} declares architectures. ${bundled}`;
  const each = reports.map((report) =>
    'error' in report
      ? `${report.package}, which does not load: ${report.error}`
      : `${report.package} (${report.architectures.map(({ name }) => name).join(', ')})`,
  );
  return `In the dependencies of ${folders} these packages declare architectures: ${each.join('; ')}`;
}
