import { compareRows, type RowsComparison } from '@quern/conformance';
import type { Backend, LoadOptions, Model } from '@quern/runtime';
import { lookAt, promptOf, type VerifyContext } from './load.js';

/** One way of computing the model, held against the reference. */
export interface Comparison extends RowsComparison {
  readonly way: string;
}

/** Tokens of a chunk that divides no block and no tile. */
const oddChunk = 5;
const batch = 4;

/** The same logits by steps of many rows, of some, and of one. */
const ways: Readonly<Record<string, LoadOptions>> = {
  prefill: {},
  'in chunks of 5': { prefillChunk: oddChunk },
  'token by token': { prefillChunk: 1 },
};

interface Wanted {
  readonly ids: number[];
  readonly logits: readonly Float32Array[];
  readonly tokens: readonly number[];
}

async function greedy(model: Model, ids: readonly number[], { tokens, signal }: VerifyContext) {
  const { result } = model.generate(ids, { temperature: 0, maxTokens: tokens, ignoreEos: true, signal });
  return (await result).tokens;
}

const want = (context: VerifyContext, reference: Backend): Promise<Wanted> =>
  lookAt(context, reference, {}, async (model) => {
    const ids = promptOf(model, context.tokens);
    const { signal } = context;
    return { ids, logits: await model.logits(ids, { signal }), tokens: await greedy(model, ids, context) };
  });

/** How many tokens agree before the first that does not. */
const sameTokens = (got: readonly number[], want: readonly number[]): number => {
  const first = want.findIndex((token, i) => got[i] !== token);
  return first < 0 ? want.length : first;
};

export interface LanguageVerdict {
  readonly comparisons: readonly Comparison[];
  /** Greedy tokens until the first that differs, of as many: alone, and the least of a batch. */
  readonly greedy: { readonly tokens: number; readonly alone: number; readonly batch: number };
}

/** A language model on a backend, held against the reference: logits in several ways, and greedy tokens. */
export async function verifyLanguage(
  context: VerifyContext,
  tested: Backend,
  reference: Backend,
): Promise<LanguageVerdict> {
  const { ids, logits, tokens } = await want(context, reference);
  const comparisons: Comparison[] = [];
  for (const [way, options] of Object.entries(ways))
    comparisons.push(
      await lookAt(context, tested, options, async (model) => ({
        way,
        ...compareRows(await model.logits(ids, { signal: context.signal }), logits),
      })),
    );
  const texts = await lookAt(context, tested, { sequences: batch }, async (model) => {
    const alone = await greedy(model, ids, context);
    return [alone, ...(await Promise.all(Array.from({ length: batch }, () => greedy(model, ids, context))))];
  });
  const [alone, ...together] = texts.map((text) => sameTokens(text, tokens));
  return { comparisons, greedy: { tokens: tokens.length, alone: alone!, batch: Math.min(...together) } };
}
