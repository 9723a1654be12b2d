import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { someTokens, turnOf } from '../works.mjs';

/** Prompt tokens per step: node-llama-cpp's default, and Quern's. */
const batchSize = 512;

/** Trials with and without flash attention, in turns, to find the faster; busy cores make trials slow. */
const trialsOf = ({ once, busy }) => (once || busy ? 1 : 2);

/** Prompt tokens of a warm-up. */
const warmUpTokens = 64;

/** node-llama-cpp with its prebuilt binary, from the folder `modules` (node_modules), with its low-level sequences. */
export class NodeLlamaCpp {
  static async open({ file, threads, context, sequences, cache, modules }) {
    const { getLlama, LlamaLogLevel } = await import(
      pathToFileURL(join(modules, 'node-llama-cpp/dist/index.js')).href
    );
    const llama = await getLlama({
      gpu: false,
      build: 'never',
      maxThreads: threads,
      logLevel: LlamaLogLevel.error,
    });
    const start = performance.now();
    const model = await llama.loadModel({ modelPath: file });
    const options = { threads, contextSize: context, sequences, batchSize };
    const engine = new NodeLlamaCpp(llama, model, options, cache);
    engine.context = await engine.createContext(false);
    engine.loadMs = performance.now() - start;
    return engine;
  }

  constructor(llama, model, contextOptions, cache) {
    this.llama = llama;
    this.model = model;
    this.contextOptions = contextOptions;
    this.cache = cache;
  }

  about() {
    const { release } = this.llama.llamaCppRelease;
    return { kernels: loadedLibrary(), llamaCpp: release, threads: this.context.currentThreads };
  }

  createContext(flashAttention) {
    const caches = this.cache === 'int8' ? q8_0Caches(flashAttention) : {};
    return this.model.createContext({ ...this.contextOptions, ...caches, flashAttention });
  }

  /** Fills the caches, warms up with and without flash attention, keeps the faster; `once`: without flash attention. */
  async prepare(work) {
    this.work = work;
    const candidates = [await this.candidate(this.context)];
    if (!work.once) candidates.push(await this.candidate(await this.createContext(true)));
    for (let turn = 0; turn < trialsOf(work); turn++)
      for (const candidate of candidates) {
        this.sequences = candidate.sequences;
        candidate.ms = Math.min(candidate.ms, await this.time(turn));
      }
    const [best, worse] = candidates.sort((a, b) => a.ms - b.ms);
    await worse?.context.dispose();
    this.context = best.context;
    this.sequences = best.sequences;
    return { flashAttention: best.context.flashAttention, faster: worse ? worse.ms / best.ms : 1 };
  }

  async candidate(context) {
    const sequences = Array.from({ length: this.work.batch }, () => context.getSequence());
    for (const [i, sequence] of sequences.entries()) await this.fill(sequence, i);
    return { context, sequences, ms: Number.POSITIVE_INFINITY };
  }

  async fill(sequence, seed) {
    const { depth } = this.work;
    await sequence.evaluateWithoutGeneratingNewTokens(someTokens(warmUpTokens));
    await sequence.clearHistory();
    if (depth > 0) await sequence.evaluateWithoutGeneratingNewTokens(someTokens(depth, seed));
  }

  /** Milliseconds of one turn. */
  async time(turn) {
    const { prompt, answer } = turnOf(this.work, turn);
    for (const sequence of this.sequences) await this.truncate(sequence);
    const start = performance.now();
    await Promise.all(this.sequences.map((sequence) => this.generate(sequence, prompt, answer)));
    return performance.now() - start;
  }

  async truncate(sequence) {
    const { depth } = this.work;
    const end = sequence.nextTokenIndex;
    if (depth === 0) await sequence.clearHistory();
    else if (end > depth) await sequence.eraseContextTokenRanges([{ start: depth, end }]);
    if (sequence.nextTokenIndex !== depth)
      throw new Error(`node-llama-cpp has ${sequence.nextTokenIndex} tokens in the cache, not ${depth}`);
  }

  async generate(sequence, prompt, answer) {
    let count = 0;
    for await (const _ of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true }))
      if (++count === answer) break;
    if (count !== answer) throw new Error(`node-llama-cpp gave ${count} tokens, not ${answer}`);
  }
}

/** Nearest to int8 caches. llama.cpp has quantised values only with flash attention. */
const q8_0Caches = (flashAttention) => ({
  experimentalKvCacheKeyType: 'Q8_0',
  experimentalKvCacheValueType: flashAttention ? 'Q8_0' : 'F16',
});

/** The kernel library that llama.cpp chose for this machine (Linux). */
function loadedLibrary() {
  try {
    const maps = readFileSync('/proc/self/maps', 'utf8');
    return /libggml-cpu[^/\s]*\.(so|dylib)/.exec(maps)?.[0] ?? 'unknown';
  } catch {
    return 'unknown';
  }
}
