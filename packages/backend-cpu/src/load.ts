import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  BackendError,
  type DeviceCeilings,
  type DeviceProfile,
  type DriverWeight,
  type FileSlice,
} from '@quern/core';

/** Makes the errors that the addon throws and its promises reject with. */
export type MakeError = (code: string, message: string) => Error;

/** A plan's memory, spread over arguments: one object less per step. */
type PlanArguments = [
  words: Int32Array,
  inputs: ArrayBuffer,
  outputs: ArrayBuffer,
  control: Int32Array,
  times?: Float64Array | undefined,
];

/** Bytes of a weight: a slice of a file, or a buffer of the addon's. */
export type NativeBytes = FileSlice | number;

/** All of a weight, or `rows` rows of it: columns from `from` on of rows of `of` elements. */
export type NativePart =
  | readonly [bytes: NativeBytes]
  | readonly [bytes: NativeBytes, rows: number, from: number, of: number];

/** The addon's one class (native/addon/native-backend.h). Buffers, weights and captured plans are named by number. */
export interface NativeBackend {
  profile(): Promise<Omit<DeviceProfile, 'kind'>>;
  ceilings(): Promise<DeviceCeilings>;
  freeMemory(): number;
  allocate(byteLength: number): number;
  free(buffer: number): void;
  write(buffer: number, byteOffset: number, bytes: Uint8Array): void;
  read(buffer: number, byteOffset: number, bytes: Uint8Array): void;
  hostMemory(byteLength: number): ArrayBuffer;
  loadWeight(
    name: string,
    shape: readonly number[],
    format: string,
    parts: readonly NativePart[],
  ): Promise<DriverWeight>;
  loadGptq(
    name: string,
    N: number,
    K: number,
    bits: number,
    groupSize: number,
    version: number,
    parts: readonly NativeBytes[],
  ): Promise<DriverWeight & { readonly format: string; readonly ordered: boolean }>;
  freeWeight(weight: number): void;
  execute(...plan: PlanArguments): Promise<void>;
  capture(
    ...plan: [...PlanArguments, chain?: Float64Array | undefined, results?: Int32Array | undefined]
  ): number;
  replay(captured: number): Promise<void>;
  replayChain(captured: number, count: number, stops: Int32Array): Promise<number>;
  release(captured: number): void;
  kernelRuns(): Record<string, number>;
  dispose(): void;
}

export interface Addon {
  readonly NativeBackend: new (threads: number, isa: string, makeError: MakeError) => NativeBackend;
}

/** Bundlers that make CommonJS of ESM leave `import.meta.url` empty; `__filename` is there then. */
const here = import.meta.url ? fileURLToPath(import.meta.url) : __filename;
const require = createRequire(here);

/** musl is when the process report names no glibc. */
function isMusl(): boolean {
  const report = process.report;
  const { excludeNetwork } = report as { excludeNetwork?: boolean };
  Object.assign(report, { excludeNetwork: true }); // or the report may wait for reverse DNS
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  Object.assign(report, { excludeNetwork });
  return header.glibcVersionRuntime === undefined;
}

/** The platform in the names of the prebuilt packages: 'linux-x64-gnu'. */
export function platform(): string {
  const base = `${process.platform}-${process.arch}`;
  return process.platform === 'linux' ? `${base}-${isMusl() ? 'musl' : 'gnu'}` : base;
}

/** Where a binary may be, best first: QUERN_CPU_BINARY alone where it is set. */
function* candidates(): Generator<string> {
  const forced = process.env.QUERN_CPU_BINARY;
  if (forced) return yield forced;
  yield resolve(here, '../../build/Release/backend_cpu.node');
  yield `@quern/backend-cpu-${platform()}`; // asking for the platform takes milliseconds
}

/** Loads the native addon. Throws UNSUPPORTED, with all that was tried, where no binary fits. */
export function loadAddon(): Addon {
  const tried: string[] = [];
  for (const candidate of candidates())
    try {
      return require(candidate);
    } catch (error) {
      tried.push(`  ${candidate}: ${String((error as Error).message).split('\n')[0]}`);
    }
  throw new BackendError(
    'UNSUPPORTED',
    [
      `@quern/backend-cpu has no binary for ${platform()} on Node ${process.version}. Tried:`,
      ...tried,
      'If optional dependencies were skipped, install them: npm install --include=optional',
      'In a bundle: install @quern/backend-cpu beside it, or set QUERN_CPU_BINARY to the path of backend_cpu.node',
      'To build it here (needs CMake and a C++20 compiler): npx quern-backend-cpu build',
    ].join('\n'),
  );
}
