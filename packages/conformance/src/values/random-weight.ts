import { elementCount } from '@quern/core';
import { random } from '@quern/core/testing';
import type { Codec } from '../conformance-options.js';
import type { Operand } from './numbers.js';

/**
 * Random blocks with finite values of a magnitude that sums can show. Most blocks of random bytes are not like that, so
 * half of each block is copied from the block before it.
 */
function randomBlocks({ blockSize, blockBytes, decode }: Codec, seed: number, count: number): Uint8Array {
  const next = random(seed);
  const words = new Uint32Array(Math.ceil(blockBytes / 4));
  const candidate = new Uint8Array(words.buffer, 0, blockBytes);
  const blocks = new Uint8Array(count * blockBytes);
  let last = new Uint8Array(0);
  for (let made = 0; made < count; ) {
    candidate.set(last);
    for (let i = 0; i < words.length; i++) if (made === 0 || next() < 0.5) words[i] = next() * 2 ** 32;
    if (!isModerate(decode(candidate, blockSize))) continue;
    last = candidate.slice();
    blocks.set(last, made++ * blockBytes);
  }
  return blocks;
}

function isModerate(values: Float32Array): boolean {
  let largest = 0;
  for (let i = 0; i < values.length; i++) {
    const magnitude = Math.abs(values[i]!);
    if (!(magnitude < 100)) return false; // false for NaN too
    if (magnitude > largest) largest = magnitude;
  }
  return largest > 0.01;
}

/** A random weight in a block format, made at first use: most cases are listed and not run. */
class RandomWeight implements Operand {
  readonly format: string;
  private made: { readonly bytes: Uint8Array; readonly values: Float32Array } | undefined;

  constructor(
    private readonly codec: Codec,
    private readonly seed: number,
    readonly shape: readonly number[],
  ) {
    this.format = codec.format;
  }

  get bytes(): Uint8Array {
    return this.make().bytes;
  }

  get values(): Float32Array {
    return this.make().values;
  }

  private make() {
    if (this.made) return this.made;
    const count = elementCount(this.shape);
    const bytes = randomBlocks(this.codec, this.seed, count / this.codec.blockSize);
    this.made = { bytes, values: this.codec.decode(bytes, count) };
    return this.made;
  }
}

const known = new WeakMap<Codec, Map<string, RandomWeight>>();

/** A random weight [.., N, blocks · blockSize]: the same for every driver tested with this codec. */
export function randomWeight(
  codec: Codec,
  seed: number,
  rows: readonly number[],
  blocks: number,
): RandomWeight {
  const shape = [...rows, blocks * codec.blockSize];
  const weights = known.get(codec) ?? new Map<string, RandomWeight>();
  known.set(codec, weights);
  const key = `${seed} ${shape}`;
  const weight = weights.get(key) ?? new RandomWeight(codec, seed, shape);
  weights.set(key, weight);
  return weight;
}
