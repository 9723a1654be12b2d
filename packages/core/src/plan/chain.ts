import type { ChainRule } from '../capability/graph.js';
import type { PlanChain, PlanIo, PlanWords } from '../driver.js';
import { elementCount, showShape } from '../dtype.js';
import { BackendError } from '../error.js';
import type { Layout } from './layout.js';
import type { TensorOperand } from './plan.js';
import { TimeSlice } from './time-slice.js';

/** A ChainRule whose tensors are known to be the step's own, and to fit. */
export interface ChainTensors {
  readonly output: TensorOperand;
  readonly feed: TensorOperand;
  readonly advance: readonly TensorOperand[];
  readonly most: number;
}

/** Checks a rule. `own` finds the step's tensor behind one of the caller's. */
export function needChain(
  rule: ChainRule,
  own: (name: string, tensor: ChainRule['output']) => TensorOperand,
): ChainTensors {
  const output = ints('output', own('output', rule.output));
  const feed = input('feed', own('feed', rule.feed));
  if (elementCount(output.shape) !== elementCount(feed.shape))
    throw new BackendError(
      'BAD_SHAPE',
      `[capture] the chain feeds an output ${showShape(output.shape)} to an input ${showShape(feed.shape)}`,
    );
  const advance = rule.advance.map((tensor) => input('advance', own('advance', tensor)));
  if (!(Number.isSafeInteger(rule.most) && rule.most > 0))
    throw new BackendError(
      'BAD_ARGUMENT',
      `[capture] a chain has a whole number of replays at most, 1 or more; got ${rule.most}`,
    );
  return { output, feed, advance, most: rule.most };
}

/** The same as places in the memory of a plan's io. Throws NOT_KEPT. */
export function placeChain({ output, feed, advance, most }: ChainTensors, layout: Layout): PlanChain {
  if (layout.places.get(output.storage)?.region !== 'outputs')
    throw new BackendError(
      'NOT_KEPT',
      "[capture] the chain's output was not kept: call step.keep(tensor) before capturing",
    );
  return {
    output: wordsOf(output, layout),
    feed: wordsOf(feed, layout),
    advance: advance.map((tensor) => wordsOf(tensor, layout)),
    results: new Int32Array(most * elementCount(output.shape)),
  };
}

/** A chain in JavaScript, for drivers that have none of their own. Resolves to the number of replays. */
export async function chainByReplays(
  replay: () => Promise<void>,
  io: PlanIo,
  { output, feed, advance, results }: PlanChain,
  count: number,
  stops: Int32Array,
): Promise<number> {
  const from = view(io.outputs, output);
  const to = view(io.inputs, feed);
  const growing = advance.map((words) => view(io.inputs, words));
  const slice = new TimeSlice();
  for (let done = 1; ; done++) {
    if (slice.over) await slice.breathe(); // replays may be too short to do so themselves
    await replay();
    results.set(from, (done - 1) * from.length);
    if (done === count || from.some((word) => stops.includes(word))) return done;
    to.set(from);
    for (const words of growing) for (let i = 0; i < words.length; i++) words[i]!++;
  }
}

const view = (memory: ArrayBuffer, { byteOffset, count }: PlanWords) =>
  new Int32Array(memory, byteOffset, count);

function wordsOf(tensor: TensorOperand, layout: Layout): PlanWords {
  const { byteOffset } = layout.places.get(tensor.storage)!;
  return { byteOffset: byteOffset + tensor.byteOffset, count: elementCount(tensor.shape) };
}

function ints(name: string, tensor: TensorOperand): TensorOperand {
  if (tensor.dtype === 'i32') return tensor;
  throw new BackendError('BAD_DTYPE', `[capture] ${name} of a chain must be i32; got ${tensor.dtype}`);
}

function input(name: string, tensor: TensorOperand): TensorOperand {
  if (tensor.storage.isInput) return ints(name, tensor);
  throw new BackendError('BAD_ARGUMENT', `[capture] ${name} of a chain is not an input of the graph`);
}
