import { createRequire } from 'node:module';
import { someTokens, turnOf, warmUpTokens } from '../works.mjs';
import { FlashAttentionChoice } from './flash-attention.mjs';

const require = createRequire(import.meta.url);

/** llama.cpp built for this machine, with the functions of llama-cpp/addon.cc. `addon`: path of the compiled file. */
export class LlamaCpp extends FlashAttentionChoice {
  static open({ file, threads, context, sequences, cache, addon }) {
    const functions = require(addon);
    const start = performance.now();
    const model = functions.loadModel(file);
    const engine = new LlamaCpp(functions, model, { threads, context, sequences, cache });
    engine.context = engine.createContext(false);
    engine.loadMs = performance.now() - start;
    return engine;
  }

  constructor(functions, model, options) {
    super();
    this.functions = functions;
    this.model = model;
    this.options = options;
  }

  about() {
    return { threads: this.options.threads };
  }

  createContext(flashAttention) {
    const { threads, context, sequences, cache } = this.options;
    return this.functions.createContext(
      this.model,
      threads,
      context,
      sequences,
      flashAttention,
      cache === 'int8',
    );
  }

  sequencesOf() {
    return Array.from({ length: this.options.sequences }, (_, i) => i);
  }

  dispose(context) {
    this.functions.disposeContext(context);
  }

  warmUp() {
    for (const sequence of this.sequences)
      this.functions.fill(this.context, sequence, Int32Array.from(someTokens(warmUpTokens)), 0);
    this.functions.truncate(this.context, 0);
  }

  fill(from, to) {
    for (const sequence of this.sequences) {
      const tokens = Int32Array.from(someTokens(to, sequence).slice(from));
      this.functions.fill(this.context, sequence, tokens, from);
    }
  }

  truncate() {
    this.functions.truncate(this.context, this.work.depth);
  }

  /** Milliseconds of one turn. */
  time(turn) {
    const { prompt, answer } = turnOf(this.work, turn);
    const tokens = Int32Array.from(prompt);
    this.truncate();
    const start = performance.now();
    this.functions.generate(this.context, tokens, answer, this.work.depth);
    return performance.now() - start;
  }
}
