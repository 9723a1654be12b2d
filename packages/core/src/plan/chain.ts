import type { ChainRule } from '../capability/graph.js';
import type { PlanChain, PlanIo, PlanSlots, PlanWords } from '../driver.js';
import { elementCount, showShape } from '../dtype.js';
import { BackendError } from '../error.js';
import { TimeSlice } from '../event-loop.js';
import type { Layout } from './layout.js';
import type { TensorOperand } from './plan.js';

/** A checked ChainRule: its tensors belong to the step and fit. */
export interface ChainTensors {
  readonly output: TensorOperand;
  readonly feed: TensorOperand;
  readonly advance: readonly TensorOperand[];
  readonly slots?: SlotTensors | undefined;
  readonly most: number;
}

interface SlotTensors {
  readonly slots: TensorOperand;
  readonly positions: TensorOperand;
  readonly blockTable: TensorOperand;
  readonly blockSize: number;
}

/** Finds the step's own tensor for a tensor of the caller. */
type Own = (name: string, tensor: ChainRule['output']) => TensorOperand;

/** Checks a rule. */
export function needChain(rule: ChainRule, own: Own): ChainTensors {
  const output = ints('output', own('output', rule.output));
  const rows = elementCount(output.shape);
  const input = (name: string, tensor: ChainRule['output']) => needRows(name, own(name, tensor), rows);
  const feed = input('feed', rule.feed);
  const advance = rule.advance.map((tensor) => input('advance', tensor));
  const slots = rule.slots && needSlots(rule.slots, input, own, rows);
  needWhole('a number of replays', rule.most);
  return { output, feed, advance, slots, most: rule.most };
}

function needSlots(rule: NonNullable<ChainRule['slots']>, input: Own, own: Own, rows: number): SlotTensors {
  const slots = input('slots', rule.slots);
  const positions = input('positions', rule.positions);
  const blockTable = needInput('blockTable', own('blockTable', rule.blockTable));
  if (blockTable.shape.length !== 2 || blockTable.shape[0] !== rows)
    throw new BackendError(
      'BAD_SHAPE',
      `[capture] blockTable of a chain of ${rows} rows must be [${rows}, B]; got ${showShape(blockTable.shape)}`,
    );
  needWhole('a block size', rule.blockSize);
  return { slots, positions, blockTable, blockSize: rule.blockSize };
}

/** The rule as places in the memory of a plan's io. Throws NOT_KEPT. */
export function placeChain({ output, feed, advance, slots, most }: ChainTensors, layout: Layout): PlanChain {
  if (layout.places.get(output.storage)?.region !== 'outputs')
    throw new BackendError(
      'NOT_KEPT',
      "[capture] the chain's output was not kept: call step.keep(tensor) before capturing",
    );
  const rows = elementCount(output.shape);
  return {
    output: wordsOf(output, layout),
    feed: wordsOf(feed, layout),
    advance: advance.map((tensor) => wordsOf(tensor, layout)),
    ...(slots && { slots: placeSlots(slots, layout) }),
    results: new Int32Array(most * rows),
    counts: new Int32Array(rows),
  };
}

const placeSlots = ({ slots, positions, blockTable, blockSize }: SlotTensors, layout: Layout): PlanSlots => ({
  slots: wordsOf(slots, layout),
  positions: wordsOf(positions, layout),
  blockTable: wordsOf(blockTable, layout),
  blockSize,
});

/** Input words that change between two replays. */
export const changedWords = ({ feed, advance, slots }: PlanChain): readonly PlanWords[] => [
  feed,
  ...advance,
  ...(slots ? [slots.slots] : []),
];

/**
 * A chain in JavaScript, for drivers without chains. Resolves to the number of replays. A replay that sets a flag ends the chain: its
 * tokens do not count. `onReplays`: as for `CapturedPlan.replayChain`.
 */
export async function chainByReplays(
  replay: () => Promise<void>,
  io: PlanIo,
  chain: PlanChain,
  limits: Int32Array,
  stops: Int32Array,
  onReplays?: (done: number) => void,
): Promise<number> {
  const rows = new ChainRows(io, chain);
  const slice = new TimeSlice();
  for (let done = 1; ; done++) {
    if (slice.over) await slice.yield(); // a short replay may not yield by itself
    await replay();
    if (io.fault[0] !== 0 || !rows.next(done, limits, stops, onReplays)) return done;
  }
}

/** The rows of a chain, between two replays. */
class ChainRows {
  private readonly output: Int32Array;
  private readonly feed: Int32Array;
  private readonly growing: readonly Int32Array[];
  private readonly ended: Uint8Array; // [S]
  /** Maximum replays: the room in `results`. */
  private readonly most: number;

  constructor(
    private readonly io: PlanIo,
    private readonly chain: PlanChain,
  ) {
    this.output = view(io.outputs, chain.output);
    this.feed = view(io.inputs, chain.feed);
    this.growing = chain.advance.map((words) => view(io.inputs, words));
    this.ended = new Uint8Array(this.output.length);
    this.most = chain.results.length / this.output.length;
    chain.counts.fill(0);
  }

  /** Stores the tokens of replay number `done` and prepares the next replay. False: every row has ended. */
  next(
    done: number,
    limits: Int32Array,
    stops: Int32Array,
    onReplays: ((done: number) => void) | undefined,
  ): boolean {
    const { output } = this;
    this.keep(done);
    onReplays?.(done); // it may lower a limit
    let goesOn = false;
    for (let row = 0; row < output.length; row++) {
      if (this.ended[row]) continue;
      if (stops.includes(output[row]!) || done >= limits[row]! || done >= this.most) this.ended[row] = 1;
      else goesOn = true;
    }
    if (goesOn) this.advance();
    return goesOn;
  }

  private keep(done: number): void {
    const { counts, results } = this.chain;
    results.set(this.output, (done - 1) * counts.length);
    for (let row = 0; row < counts.length; row++) if (!this.ended[row]) counts[row] = done;
  }

  private advance(): void {
    for (let row = 0; row < this.ended.length; row++) {
      if (this.ended[row]) continue;
      this.feed[row] = this.output[row]!;
      for (const words of this.growing) words[row]!++;
      if (this.chain.slots) this.setSlot(this.chain.slots, row);
    }
  }

  private setSlot(rule: PlanSlots, row: number): void {
    const { inputs } = this.io;
    const [position, table] = [view(inputs, rule.positions)[row]!, view(inputs, rule.blockTable)];
    const blocks = table.length / this.ended.length;
    const block = Math.floor(position / rule.blockSize);
    if (block < 0 || block >= blocks)
      throw new BackendError(
        'OUT_OF_RANGE',
        `[replayChain] row ${row} reached position ${position}; its ${blocks} blocks of ${rule.blockSize} have no slot for it`,
      );
    view(inputs, rule.slots)[row] =
      table[row * blocks + block]! * rule.blockSize + (position % rule.blockSize);
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

function needInput(name: string, tensor: TensorOperand): TensorOperand {
  if (tensor.storage.isInput) return ints(name, tensor);
  throw new BackendError('BAD_ARGUMENT', `[capture] ${name} of a chain is not an input of the graph`);
}

/** An input with one word per row. */
function needRows(name: string, tensor: TensorOperand, rows: number): TensorOperand {
  if (elementCount(tensor.shape) === rows) return needInput(name, tensor);
  throw new BackendError(
    'BAD_SHAPE',
    `[capture] ${name} of a chain must have ${rows} words, one for each word of the output; got ${showShape(tensor.shape)}`,
  );
}

function needWhole(what: string, value: number): void {
  if (Number.isSafeInteger(value) && value > 0) return;
  throw new BackendError(
    'BAD_ARGUMENT',
    `[capture] ${what} of a chain must be a whole number of 1 or more; got ${value}`,
  );
}
