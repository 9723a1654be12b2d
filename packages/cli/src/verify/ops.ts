import { knownCodecs, type OpComparison, witnessBackend } from '@quern/conformance';
import type { Backend, ModelKind } from '@quern/runtime';
import { embedAll } from './encoder.js';
import { promptOf, type VerifyContext, withModelOn } from './load.js';

/** Generated tokens: the second comes from a decode step over a filled cache. */
const decoded = 2;

/** Runs the model by its ops' definitions, and each op also on the backend. */
export async function verifyOps(
  context: VerifyContext,
  kind: ModelKind,
  tested: Backend,
): Promise<OpComparison> {
  const witness = witnessBackend(tested, knownCodecs);
  try {
    if (kind === 'encoder') await embedAll(context, witness.backend, true);
    else
      await withModelOn(context, witness.backend, { graph: false }, async (model) => {
        const ids = promptOf(model, context.tokens);
        const options = { temperature: 0, maxTokens: decoded, ignoreEos: true, signal: context.signal };
        await model.generate(ids, options).result;
      });
    return witness.comparison;
  } finally {
    witness.backend.dispose();
  }
}
