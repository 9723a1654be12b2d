import nodeModule from 'node:module';
import { resolve } from 'node:path';
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

const platform = `${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`;

/**
 * Possible places of the addon: built here, or a package for this platform. Tools that trace an application's files
 * (Next, Vercel) find the packages by `module.createRequire` and literal names; webpack leaves it alone in this form.
 */
function candidatesOf(module: typeof nodeModule): readonly (() => Addon | undefined)[] {
  const fromHere = module.createRequire(here);
  const prebuilt: Readonly<Record<string, () => Addon>> = {
    'linux-x64-gnu': () => fromHere('@quern/quant-linux-x64-gnu'),
    'linux-arm64-gnu': () => fromHere('@quern/quant-linux-arm64-gnu'),
  };
  return [
    () => fromHere(resolve(here, '../../build/Release/quant.node')), // one level above dist/ and src/ alike
    () => prebuilt[platform]?.(),
  ];
}

/** One set of functions per instruction set of this machine. */
export interface Addon {
  readonly baseline: NativeSearch;
  readonly avx2?: NativeSearch;
}

function load(): Addon | undefined {
  for (const candidate of candidatesOf(nodeModule))
    try {
      return candidate();
    } catch {} // try the next; without an addon JavaScript encodes, and a notice says so
  return undefined;
}

export const addon = load();

/** Undefined if no binary fits: encoding then runs in JavaScript. */
export const native: NativeSearch | undefined = addon?.avx2 ?? addon?.baseline;

export const noNative = `there is no native encoder for ${platform}, so blocks are encoded in JavaScript: the same bytes, but K formats take many times as long`;
