import nodeModule from 'node:module';
import { resolve } from 'node:path';
import {
  type AddonPlaces,
  type BinaryDescription,
  chooseAddon,
  describeBinary as describe,
  platform,
} from '@quern/native-runtime';
import { here } from './here.js';

/**
 * Functions of the addon (native/addon.cc): affine-fit.ts, scale-fit.ts, k-symmetric.ts and iq4-encode.ts many times
 * faster, with the same bits.
 */
export interface NativeSearch {
  fitAffine(
    x: Float32Array,
    weights: Float64Array,
    groupSize: number,
    top: number,
    first: number,
    step: number,
    steps: number,
    absolute: boolean,
    scales: Float64Array,
    lifts: Float64Array,
    levels: Uint8Array,
  ): void;
  fitScale(
    x: Float32Array,
    weights: Float64Array,
    groupSize: number,
    top: number,
    scales: Float64Array,
    inverses: Float64Array,
  ): void;
  fitByDescent(x: Float32Array, groupSize: number, top: number, scales: Float64Array): void;
  fitCurve(
    x: Float32Array,
    weights: Float64Array,
    groupSize: number,
    curve: Float64Array,
    nearest: Uint8Array,
    scales: Float64Array,
  ): void;
}

/**
 * Packages with the addon, by platform. Tools that trace an application's files (Next, Vercel) find them by
 * `module.createRequire` and literal names; webpack leaves it alone in this form.
 */
function prebuiltOf(module: typeof nodeModule): Readonly<Record<string, () => Addon>> {
  const fromHere = module.createRequire(here);
  return {
    'linux-x64-gnu': () => fromHere('@quern/quant-linux-x64-gnu'),
    'linux-arm64-gnu': () => fromHere('@quern/quant-linux-arm64-gnu'),
    'linux-x64-musl': () => fromHere('@quern/quant-linux-x64-musl'),
    'linux-arm64-musl': () => fromHere('@quern/quant-linux-arm64-musl'),
    'darwin-arm64': () => fromHere('@quern/quant-darwin-arm64'),
    'darwin-x64': () => fromHere('@quern/quant-darwin-x64'),
    'win32-x64': () => fromHere('@quern/quant-win32-x64'),
    'win32-arm64': () => fromHere('@quern/quant-win32-arm64'),
  };
}

/** One set of functions per instruction set of this machine. */
export interface Addon {
  readonly baseline: NativeSearch;
  readonly avx2?: NativeSearch;
}

const prebuilt = prebuiltOf(nodeModule);

const places: AddonPlaces<Addon> = {
  packageName: '@quern/quant',
  from: here,
  platforms: Object.keys(prebuilt),
  candidates: [
    {
      name: resolve(here, '../../build/Release/quant.node'), // one level above dist/ and src/ alike
      why: 'it was built here',
      advice: 'Build it again, or delete it: npx nx run @quern/quant:build-native',
    },
    () => ({
      name: `@quern/quant-${platform()}`,
      load: prebuilt[platform()],
      why: 'the prebuilt package for this platform',
    }),
  ],
};

/** Which binary this package takes, and why; or why none loads, and what helps. */
export const describeBinary = (): BinaryDescription => describe(places);

/** Undefined if no binary loads: JavaScript encodes then, and a notice says so. */
export const addon: Addon | undefined = chooseAddon(places).loaded?.addon;

/** Undefined if no binary fits: encoding then runs in JavaScript. */
export const native: NativeSearch | undefined = addon?.avx2 ?? addon?.baseline;

/** The notice of an encoder without the addon. */
export function noNative(): string {
  const { reason, advice } = describeBinary();
  const slow = 'Blocks are encoded in JavaScript: the same bytes, but K formats take many times as long';
  return [reason, ...(advice ? [advice] : []), slow].join('. ');
}
