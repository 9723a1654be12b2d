import { statSync } from 'node:fs';
import { join } from 'node:path';
import {
  describeFile,
  type ImportanceMatrix,
  type MixName,
  quantizeModel,
  readImportance,
  type TensorReport,
} from '@quern/runtime';
import { inTemporaryFolder } from '../temporary-folder.js';
import { progressBar } from '../terminal/progress.js';
import { say } from '../terminal/report.js';
import { type Accuracy, type AccuracyFlags, accuracyOf } from './accuracy.js';

export interface CompareFlags extends AccuracyFlags {
  readonly imatrix?: string;
  readonly pre?: string;
}

/** The result of one format. */
export interface Outcome {
  readonly format: string;
  readonly byteLength: number;
  readonly seconds: number;
  /** √(Σ(decoded − x)² / Σx²) over all tensors with changed format. */
  readonly relativeError: number;
  /** Language models, with --text. */
  readonly perplexity?: number;
  /** Encoders, with --text: between a line's embedding and the source model's. */
  readonly leastCosine?: number;
  readonly tensors: readonly TensorReport[];
}

/** The source model. */
export interface SourceOutcome extends Pick<Outcome, 'byteLength' | 'perplexity' | 'leastCosine'> {
  readonly path: string;
}

/** Writes a model in several formats and measures each. */
export class Comparison {
  private importance: ImportanceMatrix | undefined;
  private found: Promise<Accuracy | undefined> | undefined;

  constructor(
    private readonly model: string,
    private readonly flags: CompareFlags,
    private readonly signal: AbortSignal,
  ) {}

  /** The measure; undefined without --text. */
  accuracy(): Promise<Accuracy | undefined> {
    this.found ??= accuracyOf(this.model, this.flags, this.signal);
    return this.found;
  }

  async source(): Promise<SourceOutcome> {
    const { byteLength, path } = await describeFile(this.model);
    const accuracy = await this.accuracy();
    const value = await accuracy?.ofSource();
    return { path, byteLength, ...(accuracy && value !== undefined && { [accuracy.key]: value }) };
  }

  /** Writes the model to `output`; `measured`: also computes its accuracy. */
  async write(output: string, mix: MixName, measured: boolean): Promise<Outcome> {
    const { threads, imatrix, pre } = this.flags;
    if (imatrix !== undefined) this.importance ??= await readImportance(imatrix);
    const tensors: TensorReport[] = [];
    const start = performance.now();
    const bar = progressBar();
    await quantizeModel(this.model, output, {
      mix,
      signal: this.signal,
      onNotice: say,
      onProgress: bar.update,
      onTensor: (report) => tensors.push(report),
      ...(threads !== undefined && { threads }),
      ...(pre !== undefined && { pre }),
      ...(this.importance && { importance: this.importance }),
    }).finally(() => bar.stop());
    const seconds = (performance.now() - start) / 1000;
    const accuracy = measured ? await this.accuracy() : undefined;
    return {
      format: mix,
      byteLength: statSync(output).size,
      seconds,
      relativeError: relativeError(tensors),
      ...(accuracy && { [accuracy.key]: await accuracy.of(output) }),
      tensors,
    };
  }

  /** `write` with accuracy, to a temporary file. */
  async try(mix: MixName): Promise<Outcome> {
    return inTemporaryFolder((folder) => this.write(join(folder, `${mix}.gguf`), mix, true));
  }
}

function relativeError(tensors: readonly TensorReport[]): number {
  let [squares, magnitudes] = [0, 0];
  for (const { shape, rms, relative } of tensors) {
    if (relative === 0) continue;
    const sum = rms * rms * shape.reduce((count, size) => count * size, 1);
    squares += sum;
    magnitudes += sum / (relative * relative);
  }
  return magnitudes === 0 ? 0 : Math.sqrt(squares / magnitudes);
}
