import { compareRows, type RowsComparison } from '@quern/conformance';
import type { Backend, LoadOptions, Model } from '@quern/runtime';
import { promptOf, type VerifyContext, withModelOn } from './load.js';

/** Comparison of one way of computing with the reference. */
export interface Comparison extends RowsComparison {
  readonly way: string;
}

/** Chunk length that is no multiple of a block or tile. */
const oddChunk = 5;
const batch = 4;

/** The same logits from steps of many rows, of 5 rows, and of 1 row. */
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
  withModelOn(context, reference, {}, async (model) => {
    const ids = promptOf(model, context.tokens);
    const { signal } = context;
    return { ids, logits: await model.logits(ids, { signal }), tokens: await greedy(model, ids, context) };
  });

/** Number of equal tokens before the first different one. */
const sameTokens = (got: readonly number[], want: readonly number[]): number => {
  const first = want.findIndex((token, i) => got[i] !== token);
  return first < 0 ? want.length : first;
};

export interface LanguageVerdict {
  readonly comparisons: readonly Comparison[];
  /** Equal greedy tokens, out of `tokens`: of a sequence alone, and the least of a batch. */
  readonly greedy: { readonly tokens: number; readonly alone: number; readonly batch: number };
}

/** Compares a language model on a backend with the reference: logits in several ways, and greedy tokens. */
export async function verifyLanguage(
  context: VerifyContext,
  tested: Backend,
  reference: Backend,
): Promise<LanguageVerdict> {
  const { ids, logits, tokens } = await want(context, reference);
  const comparisons: Comparison[] = [];
  for (const [way, options] of Object.entries(ways))
    comparisons.push(
      await withModelOn(context, tested, options, async (model) => ({
        way,
        ...compareRows(await model.logits(ids, { signal: context.signal }), logits),
      })),
    );
  const texts = await withModelOn(context, tested, { sequences: batch }, async (model) => {
    const alone = await greedy(model, ids, context);
    return [alone, ...(await Promise.all(Array.from({ length: batch }, () => greedy(model, ids, context))))];
  });
  const [alone, ...together] = texts.map((text) => sameTokens(text, tokens));
  return { comparisons, greedy: { tokens: tokens.length, alone: alone!, batch: Math.min(...together) } };
}
