import { modelKind, type Precision, perplexity, RuntimeError } from '@quern/runtime';
import { withEmbedder, withModel } from '../load.js';
import type { BackendFlags } from '../options.js';
import { readText } from '../read-text.js';
import { progressBar } from '../terminal/progress.js';
import { notice } from '../terminal/report.js';

/** A measure of a converted model, besides size and weight errors. */
export interface Accuracy {
  /** Column heading. */
  readonly name: string;
  /** Property name. */
  readonly key: 'perplexity' | 'leastCosine';
  /** Undefined if the measure is relative to the source model. */
  ofSource(): Promise<number | undefined>;
  of(path: string): Promise<number>;
}

export interface AccuracyFlags {
  readonly threads?: number;
  readonly precision?: Precision;
  readonly text?: string;
  readonly tokens: number;
}

/** The measure for a model and the given text; undefined without a text. For speech models a text measures nothing. */
export async function accuracyOf(
  source: string,
  { text, tokens, threads, precision }: AccuracyFlags,
  signal: AbortSignal,
): Promise<Accuracy | undefined> {
  if (text === undefined) return undefined;
  const kind = await modelKind(source);
  const flags = {
    backend: 'auto',
    ctx: 256,
    ...(threads !== undefined && { threads }),
    ...(precision !== undefined && { precision }),
  };
  const content = await readText(text);
  if (kind === 'encoder') {
    const lines = content.split('\n').filter((line) => line.trim() !== '');
    return cosines(source, { lines, tokens, flags, signal });
  }
  if (kind === 'speech') {
    notice(`${source} is a speech model: no perplexity; the report has only sizes and errors`);
    return undefined;
  }
  const of = (path: string) =>
    withModel(path, flags, signal, async (model) => {
      const bar = progressBar();
      const options = { tokens, signal, onProgress: bar.update };
      const measured = await perplexity(model, content, options).finally(bar.stop);
      return measured.perplexity;
    });
  return { name: 'perplexity', key: 'perplexity', of, ofSource: () => of(source) };
}

interface EmbedRequest {
  readonly lines: readonly string[];
  /** Most tokens of all lines together; the first line is always used. */
  readonly tokens: number;
  readonly flags: BackendFlags;
  readonly signal: AbortSignal;
}

interface LineVectors {
  /** [lines · dimensions] */
  readonly values: Float32Array;
  readonly dimensions: number;
}

/** The least cosine between a line's embedding and the source model's embedding of the line. */
async function cosines(source: string, request: EmbedRequest): Promise<Accuracy> {
  if (request.lines.length === 0)
    throw new RuntimeError('EMPTY_PROMPT', 'embeddings are compared line by line: the text has no line');
  const expected = await embedLines(source, request);
  return {
    name: 'least cosine',
    key: 'leastCosine',
    ofSource: async () => undefined,
    of: async (path) => leastCosine(await embedLines(path, request), expected),
  };
}

function embedLines(path: string, { lines, tokens, flags, signal }: EmbedRequest): Promise<LineVectors> {
  return withEmbedder(path, flags, signal, (model) => {
    let left = tokens;
    const some = lines.filter((line, i) => {
      left -= model.tokenizer.encode(line).length;
      return i === 0 || left >= 0;
    });
    const bar = progressBar();
    return model.embed(some, { signal, onProgress: bar.update, truncate: true }).finally(bar.stop);
  });
}

/** Cosine of equal rows of a and b [lines, dimensions]; the least. */
export function leastCosine(a: LineVectors, b: LineVectors): number {
  let least = 1;
  for (let at = 0; at < a.values.length; at += a.dimensions) {
    const [x, y] = [a, b].map(({ values }) => values.subarray(at, at + a.dimensions));
    least = Math.min(least, dot(x!, y!) / Math.sqrt(dot(x!, x!) * dot(y!, y!)));
  }
  return least;
}

function dot(x: Float32Array, y: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i]! * y[i]!;
  return sum;
}
