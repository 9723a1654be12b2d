import { knownCodecs, type OpComparison, witnessBackend } from '@quern/conformance';
import type { Backend, ModelKind } from '@quern/runtime';
import { embedAll } from './encoder.js';
import { lookAt, promptOf, type VerifyContext } from './load.js';

/** Tokens that are generated; a decode step, over a cache that holds something, gives the second. */
const decoded = 2;

/** Runs the model by the definitions of its ops, and each op on the backend as well. */
export async function verifyOps(
  context: VerifyContext,
  kind: ModelKind,
  tested: Backend,
): Promise<OpComparison> {
  const witness = witnessBackend(tested, knownCodecs);
  try {
    if (kind === 'encoder') await embedAll(context, witness.backend, true);
    else
      await lookAt(context, witness.backend, { graph: false }, async (model) => {
        const ids = promptOf(model, context.tokens);
        const options = { temperature: 0, maxTokens: decoded, ignoreEos: true, signal: context.signal };
        await model.generate(ids, options).result;
      });
    return witness.comparison;
  } finally {
    witness.backend.dispose();
  }
}
