import { pickOptions } from '@quern/core';
import { DraftLength, longestDraft, rowCost } from '../speculation/draft-length.js';
import { DraftModel } from '../speculation/draft-model.js';
import type { DraftSource } from '../speculation/draft-source.js';
import type { Drafter } from '../speculation/drafter.js';
import { Lookup } from '../speculation/lookup.js';
import type { SpeculateOptions } from '../speculation/speculate-options.js';
import { SpeculativeDecoding } from '../speculation/speculative-decoding.js';
import type { Constraint } from '../structured/constraint.js';
import { ForcedDecoding } from '../structured/forced-decoding.js';
import { type Decoding, type DecodingParts, PlainDecoding } from './decoding.js';

/** Input of `openDecoding`. */
export interface DecodingRequest extends DecodingParts {
  readonly prompt: readonly number[];
  /** Most tokens in the sequence. */
  readonly room: number;
  readonly speculate: SpeculateOptions | undefined;
  readonly draft: DraftSource | undefined;
  readonly constraint: Constraint | undefined;
}

/** Default number of draft tokens. */
const usualDraft = 8;

export function openDecoding(request: DecodingRequest): Decoding {
  const { choice, constraint, signal } = request;
  const plain = new PlainDecoding(request);
  const drafter = openDrafter(request);
  const chosen = drafter ? new SpeculativeDecoding({ ...request, plain, drafter }) : plain;
  return constraint ? new ForcedDecoding(chosen, choice, constraint, signal) : chosen;
}

function openDrafter(request: DecodingRequest): Drafter | undefined {
  const { speculate, draft, choice, constraint, signal } = request;
  if (speculate?.kind === 'lookup') return new Lookup(speculate);
  if (!draft || !speculate) return undefined;
  const room = Math.min(request.room, draft.context);
  if (request.prompt.length >= room) return undefined; // the draft model's context has no room
  const { maxDraft = usualDraft, adaptive = true } = speculate;
  return new DraftModel({
    engine: draft.engine,
    sequence: draft.engine.sequence(pickOptions(request.sequence, ['priority', 'reuse', 'maxWaitMs', 'group'])),
    room,
    sampler: choice.sampler,
    constraint,
    length: adaptive ? new DraftLength(0.7, rowCost + draft.cost) : longestDraft,
    maxDraft,
    signal,
  });
}
