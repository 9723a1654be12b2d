import {
  type BatchArrays,
  batchInputs,
  type InputOf,
  type KvCache,
  type KvSequence,
  type Tensor,
} from '@quern/core';
import type { DecoderBatch } from '@quern/models';

/** A text and the new tokens of a step, from position `start` on. The sequence has room for them. */
export interface NewTokens {
  readonly sequence: KvSequence;
  readonly start: number;
  readonly tokens: readonly number[];
}

/**
 * Inputs of a decoder step: ids [T], the batch, and per text the block of the sound and its length: blocks [S, 1],
 * lengths [S].
 */
export type DecoderArrays = {
  readonly [Name in keyof BatchArrays | 'ids' | 'soundLengths' | 'soundBlocks']: Int32Array;
};

/** @param frames of sound that every text attends to */
export function decoderArrays(text: KvCache, rows: readonly NewTokens[], frames: number): DecoderArrays {
  return {
    ...text.describe(rows.map(({ sequence, tokens }) => ({ sequence, rows: tokens.length }))),
    ids: Int32Array.from(rows.flatMap(({ tokens }) => tokens)),
    soundLengths: new Int32Array(rows.length).fill(frames),
    soundBlocks: new Int32Array(rows.length),
  };
}

export function decoderInputs(
  input: InputOf<DecoderArrays>,
  arrays: DecoderArrays,
): { readonly ids: Tensor; readonly batch: DecoderBatch } {
  const text = batchInputs(input, arrays);
  const sound = {
    cuSeqlens: text.cuSeqlens,
    kvLengths: input('soundLengths'),
    blockTable: input('soundBlocks', [arrays.soundBlocks.length, 1]),
  };
  return { ids: input('ids'), batch: { text, sound } };
}
