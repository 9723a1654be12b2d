import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { someTokens, turnOf, warmUpTokens } from '../works.mjs';
import { FlashAttentionChoice } from './flash-attention.mjs';

/** Prompt tokens per step: node-llama-cpp's default, and Quern's. */
const batchSize = 512;

/** node-llama-cpp with its prebuilt binary, from the folder `modules` (node_modules), with its low-level sequences. */
export class NodeLlamaCpp extends FlashAttentionChoice {
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
    super();
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

  sequencesOf(context) {
    return Array.from({ length: this.work.batch }, () => context.getSequence());
  }

  dispose(context) {
    return context.dispose();
  }

  async warmUp() {
    for (const sequence of this.sequences) {
      await sequence.evaluateWithoutGeneratingNewTokens(someTokens(warmUpTokens));
      await sequence.clearHistory();
    }
  }

  async fill(from, to) {
    for (const [i, sequence] of this.sequences.entries())
      await sequence.evaluateWithoutGeneratingNewTokens(someTokens(to, i).slice(from));
  }

  /** Milliseconds of one turn. */
  async time(turn) {
    const { prompt, answer } = turnOf(this.work, turn);
    await this.truncate();
    const start = performance.now();
    await Promise.all(this.sequences.map((sequence) => this.generate(sequence, prompt, answer)));
    return performance.now() - start;
  }

  async truncate() {
    for (const sequence of this.sequences) await this.truncateOne(sequence, this.work.depth);
  }

  async truncateOne(sequence, depth) {
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
