import { pickOptions } from '@quern/core';
import type { Engine } from '../engine/engine.js';
import { noStops, type TokensRequest } from '../engine/request.js';
import { acceptToken, type SampledToken, type SamplingParams, unbiased } from '../engine/sampling/params.js';
import type { Sequence } from '../engine/sequence.js';
import { DraftLength, longestDraft, rowCost } from '../speculation/draft-length.js';
import { DraftModel } from '../speculation/draft-model.js';
import type { DraftSource } from '../speculation/draft-source.js';
import { type Draft, type Drafter, noDraft } from '../speculation/drafter.js';
import { Lookup } from '../speculation/lookup.js';
import type { SpeculateOptions } from '../speculation/speculate-options.js';

export interface DecodingOptions {
  readonly engine: Engine;
  readonly sequence: Sequence;
  readonly sampling: SamplingParams;
  /** End tokens. */
  readonly stops: Int32Array;
  readonly signal: AbortSignal | undefined;
  readonly prompt: readonly number[];
  /** Most tokens in the sequence. */
  readonly room: number;
  readonly speculate: SpeculateOptions | undefined;
  readonly draft: DraftSource | undefined;
}

/**
 * Gives the tokens of a generation after the first. Tokens that the constraint forces are computed with the token before,
 * unchosen. Drafted tokens are checked in steps shared with other calls: those that the model itself would choose are
 * kept, the first other one is replaced by the model's choice, so each step gives at least one token.
 */
export class Decoding {
  /** Drafted tokens; `accepted`: how many were kept. */
  drafted = 0;
  accepted = 0;
  private readonly drafter: Drafter | undefined;
  /** The tokens in the sequence, for the drafter. */
  private readonly history: number[];

  constructor(private readonly options: DecodingOptions) {
    this.drafter = openDrafter(options);
    this.history = this.drafter ? [...options.prompt] : [];
  }

  /**
   * Computes `last`, which the sequence does not hold yet, and gives the n next tokens, 1 ≤ n ≤ `most`. The sequence then holds
   * all of them but the last. `onToken` is called for those that a chain computes, while it runs.
   */
  next(last: number, most: number, onToken?: TokensRequest['onToken']): Promise<readonly SampledToken[]> {
    const { constraint } = this.options.sampling;
    return constraint || this.drafter ? this.guided(last, most) : this.chosen([last], most, onToken); // an extra promise costs microseconds
  }

  /** Ends a pending `next` with ABORTED, within a step. */
  cancel(): void {
    this.options.engine.cancel(this.options.sequence);
    this.drafter?.cancel?.();
  }

  close(): void {
    this.drafter?.close();
  }

  private chosen(
    ids: readonly number[],
    most: number,
    onToken?: TokensRequest['onToken'],
  ): Promise<readonly SampledToken[]> {
    const { engine, sequence, sampling, stops, signal } = this.options;
    return engine.decode({ sequence, ids, sampling, most, stops, signal, onToken });
  }

  /** With tokens that must come next, or else with a draft. */
  private async guided(last: number, most: number): Promise<readonly SampledToken[]> {
    const { sampling, signal } = this.options;
    const must = sampling.constraint?.forcedInTurns(most - 1, signal) ?? [];
    const forced = unbiased(sampling, must instanceof Promise ? await must : must); // others may spell the same text
    for (const token of forced) acceptToken(sampling, token);
    if (this.drafter) this.history.push(last, ...forced);
    const draft = this.drafter && forced.length === 0 ? await this.draft(this.drafter, most) : noDraft;
    const found =
      draft.tokens.length > 0
        ? await this.checked(last, draft)
        : await this.chosen([last, ...forced], most - forced.length);
    if (this.drafter) for (const { token } of found.slice(0, -1)) this.history.push(token);
    return forced.length > 0 ? [...forced.map((token) => ({ token })), ...found] : found;
  }

  /** Up to `most` − 1 tokens; under a constraint, only allowed ones, up to the first after which others are forced. */
  private async draft(drafter: Drafter, most: number): Promise<Draft> {
    const { engine, sampling, signal } = this.options;
    const count = Math.min(most - 1, engine.mostDrafts);
    if (count <= 0) return noDraft;
    const draft = await drafter.draft(this.history, count, engine.sharing);
    if (!sampling.constraint) return draft;
    const { tokens, forced } = await sampling.constraint.allowed(draft.tokens, signal);
    const isForced =
      forced !== undefined && tokens.length < most - 1 && unbiased(sampling, [forced]).length > 0;
    const proposals = draft.proposals?.slice(0, tokens.length);
    return { tokens, proposals, forced: isForced ? forced : undefined };
  }

  /**
   * The model's tokens after `last`, up to the first that differs from the draft. A step has at most `exactRows` rows of a
   * call: a longer draft is checked in further steps, as long as all tokens were right.
   */
  private async checked(last: number, draft: Draft): Promise<readonly SampledToken[]> {
    const { engine, sequence, sampling, signal } = this.options;
    const { tokens, proposals } = draft;
    const found: SampledToken[] = [];
    do {
      const at = found.length;
      const ids = [found.at(-1)?.token ?? last, ...tokens.slice(at, at + engine.exactRows - 1)];
      const drafts = ids.length - 1;
      const given = {
        proposals: proposals?.slice(at, at + ids.length).map((from, i) => ({ token: tokens[at + i]!, from })),
        forced: at + drafts === tokens.length ? draft.forced : undefined,
      };
      const request = { sequence, ids, drafts, ...given, sampling, most: 1, stops: noStops, signal };
      found.push(...(await engine.decode(request)));
    } while (found.at(-1)!.token === tokens[found.length - 1]);
    this.drafted += tokens.length;
    this.accepted += found.length - 1;
    this.drafter?.learn(tokens.length, found.length - 1);
    return found;
  }
}

/** Default number of draft tokens. */
const usualDraft = 8;

function openDrafter(options: DecodingOptions): Drafter | undefined {
  const { speculate, draft, sampling, sequence, prompt, signal } = options;
  if (speculate?.kind === 'lookup') return new Lookup(speculate);
  if (!draft || !speculate) return undefined;
  const room = Math.min(options.room, draft.context);
  if (prompt.length >= room) return undefined; // the draft model's context has no room
  const { maxDraft = usualDraft, adaptive = true } = speculate;
  return new DraftModel({
    engine: draft.engine,
    sequence: draft.engine.sequence(pickOptions(sequence, ['priority', 'reuse', 'maxWaitMs', 'group'])),
    room,
    sampling,
    length: adaptive ? new DraftLength(0.7, rowCost + draft.cost) : longestDraft,
    maxDraft,
    signal,
  });
}
