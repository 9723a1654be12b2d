import {
  type ChosenFormat,
  chooseFormat,
  type MixedModel,
  type TensorInput,
  type WritableFormat,
} from '@quern/quant';
import { type SyntheticFormat, syntheticFormats } from './formats.js';
import { normWeights, outlierChannels, outlierShifts } from './norm-weights.js';
import { RandomWords } from './random-words.js';
import { WeightPools } from './weight-pool.js';

/** Collects tensors in file order, each with its own seed. */
export class TensorList {
  readonly tensors: TensorInput[] = [];
  private readonly pools: WeightPools;

  constructor(
    private readonly format: SyntheticFormat,
    private readonly model: MixedModel,
    private readonly seed: number,
    signal: AbortSignal | undefined,
  ) {
    this.pools = new WeightPools(seed, signal);
  }

  has(name: string): boolean {
    return this.tensors.some((tensor) => tensor.name === name);
  }

  /** Adds a matrix in the mix's format for `name`; in `kept` if mixes leave it unchanged. */
  matrix(name: string, shape: readonly number[], kept: 'f32' | 'f16' = 'f32'): void {
    const mix = syntheticFormats[this.format];
    this.add(name, shape, chooseFormat({ name, shape, format: kept }, mix, this.model));
  }

  /** Adds an f32 tensor, whatever the mix. */
  floats(name: string, shape: readonly number[]): void {
    this.add(name, shape, { format: 'f32' });
  }

  /** Adds norm weights: around 1, of root mean square 1; with `outliers`, a few large ones. */
  norm(name: string, width: number, outliers = false): void {
    this.addVector(name, normWeights(width, this.outliers(width, outliers), new RandomWords(this.nextSeed)));
  }

  /** Adds a layer norm's bias: zeros; with `outliers`, large values in a few channels. */
  shift(name: string, width: number, outliers: boolean): void {
    this.addVector(name, outlierShifts(width, this.outliers(width, outliers)));
  }

  zeros(name: string, width: number): void {
    this.addVector(name, new Float32Array(width));
  }

  private get nextSeed(): number {
    return this.seed + 7919 * this.tensors.length;
  }

  private outliers(width: number, wanted: boolean): ReadonlySet<number> {
    return wanted ? outlierChannels(width, this.seed) : new Set();
  }

  private addVector(name: string, values: Float32Array<ArrayBuffer>): void {
    const data = new Uint8Array(values.buffer);
    this.tensors.push({ name, shape: [values.length], format: 'f32', data });
  }

  private add(name: string, shape: readonly number[], chosen: ChosenFormat<WritableFormat>): void {
    const seed = this.nextSeed;
    const data = () => this.pools.matrix(chosen, shape, seed);
    this.tensors.push({ name, shape, format: chosen.format, data });
  }
}
