import { type Backend, loadModel, type Model } from '@quern/runtime';
import { openPlainer } from './backends.js';
import { BenchError } from './error.js';
import { someTokens } from './measure.js';

/** What is checked of a model. */
type Checked = Pick<Model, 'path' | 'logits'>;

/** What came of holding a model's logits against those of plainer code. */
export interface Check {
  /** The backend and instruction set that they were held against. */
  readonly against: string;
  /** ‖logits − expected‖ ÷ ‖expected‖ of the worst position. */
  readonly relativeError: number;
}

/**
 * The most that is taken for rounding. Activations in 8 bits are wrong by half a percent in each product, and a deep stack
 * of random weights lets that grow to a few percent of the logits; a wrong kernel is wrong by about all of them.
 */
export const errorBound = 0.1;

/** Tokens of context that the check needs. */
export const checkedTokens = 8;

/** ‖a − b‖ ÷ ‖b‖; not a number, or infinite, where either has such. */
export function relativeError(a: Float32Array, b: Float32Array): number {
  let difference = 0;
  let size = 0;
  for (const [i, expected] of b.entries()) {
    difference += (a[i]! - expected) ** 2;
    size += expected ** 2;
  }
  return Math.sqrt(difference / size);
}

/** Logits after each of some tokens, computed together, and after the first of them computed alone. */
async function logitsOf(model: Checked, signal: AbortSignal): Promise<Float32Array[]> {
  const ids = someTokens(checkedTokens);
  const together = await model.logits(ids, { signal });
  const alone = await model.logits(ids.slice(0, 1), { signal });
  return [...together, ...alone];
}

async function plainLogits(plainer: Backend, path: string, signal: AbortSignal): Promise<Float32Array[]> {
  using model = await loadModel(path, { backend: plainer, context: checkedTokens, signal });
  return await logitsOf(model, signal);
}

/** What was computed, and the same on a plainer backend. */
interface Outputs {
  got(): Promise<Float32Array[]>;
  expected(plainer: Backend): Promise<Float32Array[]>;
}

/**
 * Holds what a backend makes of a model against what plainer code does, which needs room for the model a second time.
 * Undefined where there is nothing to hold it against. Rejects with BenchError WRONG_OUTPUT where they differ by more than
 * `errorBound`.
 */
export async function holdAgainstPlainer(
  backend: Pick<Backend, 'name' | 'profile'>,
  path: string,
  what: string,
  { got, expected }: Outputs,
  measured = `${backend.name} (${backend.profile.isa})`,
): Promise<Check | undefined> {
  using plainer = await openPlainer(backend);
  if (!plainer) return undefined;
  const wanted = await expected(plainer);
  const worst = Math.max(...(await got()).map((row, i) => relativeError(row, wanted[i]!)));
  const against = `${plainer.name} (${plainer.profile.isa})`;
  if (!(worst <= errorBound))
    throw new BenchError(
      'WRONG_OUTPUT',
      `${path}: the ${what} of ${measured} differ from those of ${against} by ${worst.toPrecision(3)} of their norm, more than ${errorBound}: its kernels compute something else, so their speed means nothing. --no-check measures all the same`,
    );
  return { against, relativeError: worst };
}

/** The same for the logits of a few tokens. */
export const checkOutput = (
  model: Checked,
  backend: Pick<Backend, 'name' | 'profile'>,
  signal: AbortSignal,
  measured?: string,
): Promise<Check | undefined> =>
  holdAgainstPlainer(
    backend,
    model.path,
    'logits',
    {
      got: () => logitsOf(model, signal),
      expected: (plainer) => plainLogits(plainer, model.path, signal),
    },
    measured,
  );
