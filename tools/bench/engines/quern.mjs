import { fileURLToPath } from 'node:url';
import { loadModel } from '../../../packages/runtime/dist/index.js';
import { someTokens, trialOf, turnOf } from '../works.mjs';

/** A package that depends on the backend. */
const resolveFrom = fileURLToPath(new URL('../../../packages/cli/', import.meta.url));

/** Quern as applications use it: `loadModel`, sessions, greedy decoding. */
export class Quern {
  static async open({ file, threads, context, sequences, cache }) {
    const start = performance.now();
    const options = { backend: 'cpu', threads, context, sequences, cacheDtype: cache, resolveFrom };
    const model = await loadModel(file, options);
    return new Quern(model, performance.now() - start);
  }

  constructor(model, loadMs) {
    this.model = model;
    this.loadMs = loadMs;
  }

  about() {
    return { kernels: this.model.profile.isa, threads: this.model.profile.threads };
  }

  /** Fills the caches to the work's depth and warms up. */
  async prepare(work) {
    this.work = work;
    this.sessions = Array.from({ length: work.batch }, () => this.model.session());
    if (work.depth > 0)
      for (const [i, session] of this.sessions.entries())
        await this.generate(session, someTokens(work.depth, i), 0);
    this.work = { ...work, tokens: trialOf(work).tokens };
    await this.time(-1);
    this.work = work;
    return {};
  }

  /** Milliseconds of one turn. */
  async time(turn) {
    const { depth } = this.work;
    const { prompt, answer } = turnOf(this.work, turn);
    const start = performance.now();
    await Promise.all(
      this.sessions.map((session, i) =>
        this.generate(session, [...someTokens(depth, i), ...prompt], answer, depth),
      ),
    );
    return performance.now() - start;
  }

  /** @param depth tokens that the cache holds; undefined: any number */
  async generate(session, ids, answer, depth) {
    const options = { maxTokens: answer, temperature: 0, ignoreEos: true, reuse: depth !== 0 };
    const result = await session.generate(ids, options).result;
    if (result.tokens.length !== answer || result.cachedTokens !== (depth ?? result.cachedTokens))
      throw new Error(
        `quern gave ${result.tokens.length} tokens after ${result.cachedTokens} in the cache, not ${answer} after ${depth}`,
      );
  }
}
