import type { GgufFormat } from '../format/formats.js';
import type { ErrorSums } from './encode-job.js';
import { QuantizeError } from './error.js';

/** Error of a tensor's values after quantising. */
export interface TensorReport {
  readonly name: string;
  readonly shape: readonly number[];
  readonly from: GgufFormat;
  readonly to: GgufFormat;
  /** √(mean of (decoded − x)²) */
  readonly rms: number;
  /** max |decoded − x| */
  readonly max: number;
  /** √(Σ(decoded − x)² / Σx²) */
  readonly relative: number;
}

/** Sums the errors of a tensor's pieces. */
export class TensorErrors {
  private squares = 0;
  private magnitudes = 0;
  private worst = 0;

  constructor(private readonly tensor: Omit<TensorReport, 'rms' | 'max' | 'relative'>) {}

  /** @throws QuantizeError BAD_VALUES if a value is not finite, before or after. */
  add({ squares, magnitudes, worst }: ErrorSums): void {
    if (!Number.isFinite(magnitudes)) this.refuse('holds a NaN or an infinity: the file is broken');
    if (!Number.isFinite(worst))
      this.refuse(
        `holds a value that ${this.tensor.to} cannot hold; choose a format of greater range, such as bf16`,
      );
    this.squares += squares;
    this.magnitudes += magnitudes;
    this.worst = Math.max(this.worst, worst);
  }

  report(): TensorReport {
    const { name, shape, from, to } = this.tensor;
    const count = shape.reduce((product, size) => product * size, 1);
    const rms = Math.sqrt(this.squares / count);
    const relative = this.squares === 0 ? 0 : Math.sqrt(this.squares / this.magnitudes);
    return { name, shape, from, to, rms, max: this.worst, relative };
  }

  private refuse(why: string): never {
    throw new QuantizeError('BAD_VALUES', `tensor '${this.tensor.name}' ${why}`);
  }
}
