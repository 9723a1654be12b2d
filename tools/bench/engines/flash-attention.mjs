import { trialOf } from '../works.mjs';

/** Trials with and without flash attention, in turns, to find the faster; busy cores make trials slow. */
const trialsOf = ({ once, busy }) => (once || busy ? 1 : 2);

/**
 * llama.cpp with flash attention or without, whichever is faster for the work. A derived class has `model`, `context`
 * (without flash attention), and
 * - `createContext(flashAttention)`, `sequencesOf(context)`, `dispose(context)`;
 * - `warmUp()` and `fill(from, to)` (cached tokens of these positions) of `context`, `sequences`, `work`;
 * - `time(turn)`: milliseconds.
 */
export class FlashAttentionChoice {
  /** Fills the caches, warms up, keeps the faster of both contexts; `once`: only without flash attention. */
  async prepare(work) {
    this.work = trialOf(work);
    const candidates = [await this.candidate(this.context, false)];
    if (!work.once) candidates.push(await this.candidate(await this.createContext(true), true));
    for (let turn = 0; turn < trialsOf(work); turn++)
      for (const candidate of candidates) {
        this.use(candidate);
        candidate.ms = Math.min(candidate.ms, await this.time(turn));
      }
    const [best, worse] = candidates.sort((a, b) => a.ms - b.ms);
    if (worse) await this.dispose(worse.context);
    this.use(best);
    await this.deepen(work);
    return { flashAttention: best.flashAttention, faster: worse ? worse.ms / best.ms : 1 };
  }

  async candidate(context, flashAttention) {
    const candidate = { context, flashAttention, ms: Number.POSITIVE_INFINITY };
    candidate.sequences = this.sequencesOf(context);
    this.use(candidate);
    await this.warmUp();
    if (this.work.depth > 0) await this.fill(0, this.work.depth);
    return candidate;
  }

  use({ context, sequences }) {
    this.context = context;
    this.sequences = sequences;
  }

  /** From the trial to the work. */
  async deepen(work) {
    const from = this.work.depth;
    await this.truncate();
    this.work = work;
    if (work.depth === from) return;
    await this.fill(from, work.depth);
    await this.time(-1);
  }
}
