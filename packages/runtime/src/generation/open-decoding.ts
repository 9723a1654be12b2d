import { DraftLength, longestDraft } from '../speculation/draft-length.js';
import { DraftModel } from '../speculation/draft-model.js';
import type { DraftSource } from '../speculation/draft-source.js';
import type { Drafter } from '../speculation/drafter.js';
import { Lookup, rowCost } from '../speculation/lookup.js';
import type { SpeculateOptions } from '../speculation/speculate-options.js';
import { SpeculativeDecoding } from '../speculation/speculative-decoding.js';
import { type Decoding, type DecodingParts, PlainDecoding } from './decoding.js';

/** Input of `openDecoding`. */
export interface DecodingRequest extends DecodingParts {
  readonly prompt: readonly number[];
  /** Most tokens in the sequence. */
  readonly room: number;
  readonly speculate: SpeculateOptions | undefined;
  readonly draft: DraftSource | undefined;
  /** As `GenerateOptions.maxWaitMs`, for the draft model's cache. */
  readonly maxWaitMs: number | undefined;
}

/** Default number of draft tokens. */
const usualDraft = 8;

/** Waits for room in the draft model's cache, if there is a draft model. Rejects with ABORTED, BUSY or DISPOSED. */
export async function openDecoding(request: DecodingRequest): Promise<Decoding> {
  const plain = new PlainDecoding(request);
  const drafter = await openDrafter(request);
  return drafter ? new SpeculativeDecoding({ ...request, plain, drafter }) : plain;
}

async function openDrafter(request: DecodingRequest): Promise<Drafter | undefined> {
  const { speculate, draft, choice, signal } = request;
  if (speculate?.kind === 'lookup') return new Lookup(speculate);
  if (!draft || !speculate) return undefined;
  const room = Math.min(request.room, draft.context);
  if (request.prompt.length >= room) return undefined; // the draft model's context has no room
  const { maxDraft = usualDraft, adaptive = true } = speculate;
  return new DraftModel({
    engine: draft.engine,
    lease: await draft.open(room, { signal, maxWaitMs: request.maxWaitMs }),
    room,
    sampler: choice.sampler,
    length: adaptive ? new DraftLength(0.7, rowCost + draft.cost) : longestDraft,
    maxDraft,
    signal,
  });
}
