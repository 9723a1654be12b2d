import type { WeightBytes } from '@quern/core';
import { awqWeightsAsGptq, awqZerosAsGptq } from '../hugging-face/awq.js';
import { type GptqInMemory, GptqRows } from '../hugging-face/gptq-rows.js';
import { readSlice } from '../read-slice.js';
import { decodePiece, floatsOf, type Recipe, wordsOf } from './recipe.js';

/** A piece of a tensor, to be read and decoded by a thread. */
export type DecodeJob = BytesJob | RowsJob;

/** Bytes in the order of the tensor's elements. */
export interface BytesJob {
  readonly recipe: Recipe;
  readonly source: Exclude<WeightBytes, Uint8Array>;
  /** Bytes after decoding. */
  readonly byteLength: number;
}

/** Rows of a matrix of GPTQ or AWQ, as f32. */
export interface RowsJob {
  readonly matrix: GroupedMatrix;
  readonly first: number;
  readonly rows: number;
  /** Bytes after decoding. */
  readonly byteLength: number;
}

/** As GptqSource, or with AWQ's order of weights and zero points. */
export interface GroupedMatrix extends Omit<GptqInMemory, 'qweight' | 'qzeros' | 'scales' | 'groupIndex'> {
  readonly kind: 'gptq' | 'awq';
  readonly qweight: WeightBytes;
  readonly qzeros: WeightBytes;
  readonly scales: WeightBytes;
  readonly groupIndex?: WeightBytes | undefined;
}

/** Runs jobs on the calling thread. */
export class DecodeJobs {
  private last: { readonly key: string; readonly rows: GptqRows } | undefined;

  /**
   * Fills `into`. false as for `decodePiece`.
   * @throws FileError READ_FAILED or TRUNCATED; FormatError BAD_LENGTH; BackendError BAD_WEIGHT.
   */
  run(job: DecodeJob, into: Uint8Array): boolean {
    if ('recipe' in job) return decodePiece(job.recipe, inMemory(job.source), into);
    this.rowsOf(job.matrix).decode(job.first, job.rows, floatsOf(into));
    return true;
  }

  /** Keeps the last matrix: its jobs follow each other, and every row needs all its bytes. */
  private rowsOf(matrix: GroupedMatrix): GptqRows {
    const key = `${matrix.name} ${JSON.stringify(matrix.qweight)}`;
    if (this.last?.key !== key) this.last = { key, rows: readRows(matrix) };
    return this.last.rows;
  }
}

function readRows({ qweight, qzeros, scales, groupIndex, ...matrix }: GroupedMatrix): GptqRows {
  const [words, zeros] = [inMemory(qweight), inMemory(qzeros)];
  const [N, K] = matrix.shape;
  const ordered =
    matrix.kind === 'awq'
      ? {
          qweight: bytesOf(awqWeightsAsGptq(wordsOf(words), N, K)),
          qzeros: bytesOf(awqZerosAsGptq(wordsOf(zeros))),
        }
      : { qweight: words, qzeros: zeros };
  return new GptqRows({
    ...matrix,
    ...ordered,
    scales: inMemory(scales),
    groupIndex: groupIndex && inMemory(groupIndex),
  });
}

const bytesOf = ({ buffer }: Int32Array) => new Uint8Array(buffer);

const inMemory = (source: WeightBytes): Uint8Array =>
  source instanceof Uint8Array ? source : readSlice(source.path, source.offset, source.byteLength);
