import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A package of a test application: its "quern" field and its files. */
export interface MadePackage {
  readonly quern?: object;
  readonly files?: Readonly<Record<string, string>>;
}

/** Writes an application that depends on the given packages, into its own folder. */
export function makeApplication(packages: Readonly<Record<string, MadePackage>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'quern-app-')));
  const dependencies = Object.fromEntries(Object.keys(packages).map((name) => [name, '1.0.0']));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'application', dependencies }));
  for (const [name, { quern, files = {} }] of Object.entries(packages)) {
    const home = join(folder, 'node_modules', name);
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'package.json'), JSON.stringify({ name, version: '1.0.0', exports: {}, quern }));
    for (const [file, text] of Object.entries(files)) writeFileSync(join(home, file), text);
  }
  return folder;
}

/** The package's backend is used only if named. */
export const onRequest = ({ quern, ...rest }: MadePackage): MadePackage => ({
  ...rest,
  quern: { ...quern, auto: false },
});

/**
 * A package with a copy of the reference backend: another name, made-up rates and memory; ceilings from an optional
 * expression.
 */
export function backendPackage(
  name: string,
  profile: { flops: number; readBandwidth: number; estimated?: boolean },
  { ceilings, freeMemory }: { readonly ceilings?: string; readonly freeMemory?: number } = {},
): MadePackage {
  const source = `
    import { defineBackend } from '@quern/core';
    import { referenceDriver } from '@quern/backend-reference';
    export const made = [];
    export async function createBackend(options) {
      const driver = referenceDriver();
      const { threads = 1, precision = 'standard' } = options;
      const profile = { ...driver.profile, ...${JSON.stringify(profile)}, threads, precision };
      const measured = {
        ${ceilings === undefined ? '' : `measureCeilings: async ({ again = false } = {}) => ${ceilings},`}
        ${freeMemory === undefined ? '' : `freeMemory: () => ${freeMemory},`}
      };
      const backend = defineBackend({ ...driver, ...measured, name: ${JSON.stringify(name)}, profile });
      made.push(backend);
      return backend;
    }`;
  return { quern: { backend: './index.mjs' }, files: { 'index.mjs': source } };
}

export const brokenPackage = (message: string, code?: string): MadePackage => ({
  quern: { backend: './index.mjs' },
  files: {
    'index.mjs': `export async function createBackend() {
      throw Object.assign(new Error(${JSON.stringify(message)}), ${JSON.stringify({ code })});
    }`,
  },
});
