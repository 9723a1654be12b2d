import { type Backend, loadModel, type Model } from '@quern/runtime';
import { openPlainer } from './backends.js';
import { BenchError } from './error.js';
import { someTokens } from './measure.js';

/** The checked parts of a model. */
type Checked = Pick<Model, 'path' | 'logits'>;

/** The comparison of a model's logits with those of plainer code. */
export interface Check {
  /** Backend and instruction set of the plainer code. */
  readonly against: string;
  /** ‖logits − expected‖ ÷ ‖expected‖ of the worst position. */
  readonly relativeError: number;
}

/**
 * Largest accepted rounding error. 8-bit activations err by about 1 % per product, more beside outlier channels; a deep
 * stack of random weights amplifies that to 4 to 6 % of the logits, 9 % where rounding changes the choice of experts. A
 * wrong kernel errs by about 100 %.
 */
export const errorBound = 0.1;

/** Context tokens that the check needs. */
export const checkedTokens = 8;

/** ‖a − b‖ ÷ ‖b‖; NaN or infinite if a or b has such values. */
export function relativeError(a: Float32Array, b: Float32Array): number {
  let difference = 0;
  let size = 0;
  for (const [i, expected] of b.entries()) {
    difference += (a[i]! - expected) ** 2;
    size += expected ** 2;
  }
  return Math.sqrt(difference / size);
}

/** Logits after each of a few tokens in one step, and after the first token alone. */
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

/** Outputs of the measured backend, and of a plainer one. */
interface Outputs {
  got(): Promise<Float32Array[]>;
  expected(plainer: Backend): Promise<Float32Array[]>;
}

/**
 * Compares a backend's output for a model with plainer code's; needs memory for the model twice. Undefined without a
 * plainer backend. Rejects with BenchError WRONG_OUTPUT for a relative error above `errorBound`.
 */
export async function compareWithPlainer(
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
      `${path}: the ${what} of ${measured} differ from those of ${against} by ${worst.toPrecision(3)} of their norm, more than ${errorBound}: its kernels are wrong, so their speed means nothing. --no-check measures all the same`,
    );
  return { against, relativeError: worst };
}

/** `compareWithPlainer` for the logits of a few tokens. */
export const checkOutput = (
  model: Checked,
  backend: Pick<Backend, 'name' | 'profile'>,
  signal: AbortSignal,
  measured?: string,
): Promise<Check | undefined> =>
  compareWithPlainer(
    backend,
    model.path,
    'logits',
    {
      got: () => logitsOf(model, signal),
      expected: (plainer) => plainLogits(plainer, model.path, signal),
    },
    measured,
  );
