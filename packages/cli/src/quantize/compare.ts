import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ImportanceMatrix,
  type MixName,
  perplexity,
  quantizeModel,
  readImportance,
  type TensorReport,
} from '@quern/runtime';
import { withModel } from '../load.js';
import { inTemporaryFolder } from '../temporary-folder.js';
import { loadingBar } from '../terminal/progress.js';
import { say } from '../terminal/report.js';

export interface CompareFlags {
  readonly threads?: number;
  readonly imatrix?: string;
  readonly text?: string;
  readonly tokens: number;
  readonly pre?: string;
}

/** What became of a model in one format. */
export interface Outcome {
  readonly format: string;
  readonly byteLength: number;
  readonly seconds: number;
  /** √(Σ(decoded − x)² / Σx²) over all tensors whose format has changed. */
  readonly relativeError: number;
  readonly perplexity: number | undefined;
  readonly tensors: readonly TensorReport[];
}

/** Writes a model in formats, and measures what became of it. */
export class Comparison {
  private importance: ImportanceMatrix | undefined;

  constructor(
    private readonly model: string,
    private readonly flags: CompareFlags,
    private readonly signal: AbortSignal,
  ) {}

  /** Writes the model to `output`; `measured` computes the perplexity too. */
  async write(output: string, mix: MixName, measured: boolean): Promise<Outcome> {
    const { threads, imatrix, pre } = this.flags;
    if (imatrix !== undefined) this.importance ??= await readImportance(imatrix);
    const tensors: TensorReport[] = [];
    const start = performance.now();
    const bar = loadingBar();
    await quantizeModel(this.model, output, {
      mix,
      signal: this.signal,
      onNotice: say,
      onProgress: (progress) => bar.update({ phase: 'weights', ...progress }),
      onTensor: (report) => tensors.push(report),
      ...(threads !== undefined && { threads }),
      ...(pre !== undefined && { pre }),
      ...(this.importance && { importance: this.importance }),
    }).finally(() => bar.stop());
    const seconds = (performance.now() - start) / 1000;
    return {
      format: mix,
      byteLength: statSync(output).size,
      seconds,
      relativeError: relativeError(tensors),
      perplexity: measured ? await this.perplexityOf(output) : undefined,
      tensors,
    };
  }

  /** The same into a file that is thrown away. */
  async try(mix: MixName): Promise<Outcome> {
    return inTemporaryFolder((folder) => this.write(join(folder, `${mix}.gguf`), mix, true));
  }

  /** Of the text asked for, by the model at `path`; undefined without a text. */
  async perplexityOf(path: string): Promise<number | undefined> {
    const { text, tokens, threads } = this.flags;
    if (text === undefined) return undefined;
    const flags = { backend: 'auto', ctx: 256, ...(threads !== undefined && { threads }) };
    const measured = await withModel(path, flags, this.signal, (model) =>
      perplexity(model, readFileSync(text, 'utf8'), { tokens, signal: this.signal }),
    );
    return measured.perplexity;
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
