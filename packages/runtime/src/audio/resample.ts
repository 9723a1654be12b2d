import { yieldToEventLoop } from '@quern/core';

/** Zero crossings of the sinc on each side; more crossings give a steeper edge. */
const crossings = 24;
/** Edge of the pass band, as a fraction of half the lower rate. */
const edge = 0.945;
/** Parameter of the Kaiser window: −80 dB beyond the edge. */
const beta = 8;
/** Multiplications between two turns of the event loop. */
const perSlice = 2 ** 21;

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/**
 * Samples at another rate, by a bank of windowed sincs (Smith 2002, Digital Audio Resampling). The bank has exactly the
 * phases of the ratio of the rates: the filter is the only source of error.
 * @returns [⌈n · to / from⌉] samples, aligned at the first
 */
export async function resample(
  x: Float32Array,
  from: number,
  to: number,
  signal?: AbortSignal,
): Promise<Float32Array> {
  if (from === to) return x;
  const common = gcd(from, to);
  const [up, down] = [to / common, from / common]; // `up` outputs for every `down` inputs
  const bank = await filterBank(up, down);
  const taps = bank.length / up;
  const y = new Float32Array(Math.ceil((x.length * up) / down));
  for (let begin = 0; begin < y.length; ) {
    const end = Math.min(y.length, begin + Math.max(1, Math.floor(perSlice / taps)));
    for (let i = begin; i < end; i++) {
      const place = i * down;
      y[i] = dot(x, Math.floor(place / up) - taps / 2 + 1, bank, (place % up) * taps, taps);
    }
    begin = end;
    await yieldToEventLoop();
    signal?.throwIfAborted();
  }
  return y;
}

/** Σ x[at + k] · bank[row + k]; x is zero outside its range. */
function dot(x: Float32Array, at: number, bank: Float32Array, row: number, taps: number): number {
  let sum = 0;
  const last = Math.min(taps, x.length - at);
  for (let k = Math.max(0, -at); k < last; k++) sum += x[at + k]! * bank[row + k]!;
  return sum;
}

/** [up, taps]. Row p: the filter for outputs p / up samples after an input. */
async function filterBank(up: number, down: number): Promise<Float32Array> {
  const cutoff = edge * Math.min(1, up / down); // as a fraction of half the input's rate
  const reach = Math.ceil(crossings / Math.min(1, up / down));
  const taps = 2 * reach;
  const bank = new Float32Array(up * taps);
  for (let p = 0; p < up; p++) {
    const row = bank.subarray(p * taps, (p + 1) * taps);
    for (let k = 0; k < taps; k++) {
      const distance = k - reach + 1 - p / up;
      row[k] = cutoff * sinc(cutoff * distance) * kaiser(distance / reach);
    }
    const sum = row.reduce((total, value) => total + value, 0);
    for (let k = 0; k < taps; k++) row[k]! /= sum; // a constant signal keeps its value in every phase
    if (p % 256 === 255) await yieldToEventLoop();
  }
  return bank;
}

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

/** 0 outside of [−1, 1]. */
const kaiser = (x: number): number =>
  Math.abs(x) >= 1 ? 0 : bessel(beta * Math.sqrt(1 - x * x)) / bessel(beta);

/** The modified Bessel function I₀, by its power series. */
function bessel(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > 1e-12 * sum; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}
