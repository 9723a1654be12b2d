import type { DecoderConfig } from '../config/decoder-config.js';
import type { ResolvedWeight } from './resolve-weights.js';
import { partsOf, type WeightFile } from './weight-file.js';

/** What a model reads, and its file. */
export interface ReadTensors {
  readonly path: string;
  readonly weights: WeightFile;
  readonly resolved: readonly ResolvedWeight[];
}

/** RoPE frequencies follow from the configuration, or were read with it. */
const frequencies = /(^|\.)rope_(freqs|factors_long|factors_short)\.weight$|rotary_emb\.inv_freq$/;
/** A part of a quantised matrix: the whole matrix has another name. */
const part = /\.(qweight|qzeros|scales|g_idx|\w+_scale|weight_scale_inv)$/;
/** Training heads and buffers of encoders, the pooler of one without classifier, and the output projection of decoders. */
export const encoderExtras = /position_ids$|^pooler\.|^cls\.|^(lm_head|output)\.|^(model\.)?head\./;
/** The output projection of a model whose output is the embedding. */
export const tiedOutput = /^(lm_head|output|proj_out)\.weight$/;

/** Tensors that a decoder's file may have beside those that are read. */
export function decoderExtras({ tied, layers, nextN = 0 }: DecoderConfig): RegExp | undefined {
  const behind = Array.from({ length: nextN }, (_, i) => layers + i).join('|');
  const ofLayers = nextN > 0 ? [`^(blk|model\\.layers)\\.(${behind})\\.`] : [];
  const names = [...(tied ? [tiedOutput.source] : []), ...ofLayers];
  return names.length > 0 ? new RegExp(names.join('|')) : undefined;
}

/**
 * The tensors of a file that no entry of the weight table reads: the file may be of another model than its
 * configuration says.
 * @param expected names that may be there
 */
export function unreadTensors({ weights, resolved }: ReadTensors, expected?: RegExp): readonly string[] {
  const read = new Set(resolved.flatMap(({ tensor }) => partsOf(tensor).map(({ name }) => name)));
  return [...weights.tensors.keys()].filter(
    (name) => !read.has(name) && !frequencies.test(name) && !part.test(name) && !expected?.test(name),
  );
}

/** Reports unread tensors: the model may need them. */
export function noticeUnread(
  tensors: ReadTensors,
  expected: RegExp | undefined,
  outcome: string,
  onNotice: ((message: string) => void) | undefined,
): void {
  const unread = onNotice ? unreadTensors(tensors, expected) : [];
  if (unread.length === 0) return;
  const more = unread.length > SHOWN ? ', …' : '';
  onNotice?.(
    `${tensors.path}: ${unread.length} ${unread.length === 1 ? 'tensor is' : 'tensors are'} unknown to the architecture and ${outcome}: ${unread.slice(0, SHOWN).join(', ')}${more}`,
  );
}

const SHOWN = 4;

/** The outcome for a model that is loaded. */
export const notRead = 'not read: the model may compute something else than it was trained for';
