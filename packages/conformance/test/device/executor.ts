import type { ByteRange, CapturedPlan, EncodedPlan, PlanChain, PlanExecutor, PlanIo } from '@quern/core';
import type { Link } from './link.js';
import type { ChainPlaces, Piece, PlanMessage, Ran, Told } from './protocol.js';

/** What the host knows of the plans that have run. */
export interface Record {
  runs: Readonly<globalThis.Record<string, number>>;
  /** When the device began and ended each plan or chain, in milliseconds. */
  readonly spans: (readonly [begin: number, end: number])[];
}

const message = (
  { words, lifetimes }: EncodedPlan,
  { inputs, outputs, times }: PlanIo,
  free: number,
): PlanMessage => ({
  words,
  lifetimes,
  inputsBytes: inputs.byteLength,
  outputsBytes: outputs.byteLength,
  free,
  timed: times !== undefined,
});

const piecesOf = (memory: ArrayBuffer, ranges: readonly ByteRange[]): Piece[] =>
  ranges.map(({ from, to }) => ({ from, bytes: new Uint8Array(memory.slice(from, to)) }));

const placesOf = ({ output, feed, advance, slots, results }: PlanChain): ChainPlaces => ({
  ...{ output, feed, advance },
  ...(slots && { slots }),
  most: results.length / output.count,
});

/** Writes what a plan leaves, as its promise settles. */
function deliver({ outputs, fault, times, span, runs }: Ran, io: PlanIo, record: Record): void {
  const bytes = new Uint8Array(io.outputs);
  for (const piece of outputs) bytes.set(piece.bytes, piece.from);
  if (fault) io.fault.set(fault);
  if (times) io.times?.set(times);
  record.runs = runs;
  record.spans.push(span);
}

/** Captured plans have numbers of their own. */
let lastId = 0;

export function executorOf(link: Link, free: () => number, record: Record, chains: boolean): PlanExecutor {
  return {
    async execute(plan, io) {
      const inputs = new Uint8Array(io.inputs.slice(0));
      const { control } = io;
      deliver(
        await link.ask<Ran>({ kind: 'execute', plan: message(plan, io, free()), inputs, control }),
        io,
        record,
      );
    },
    async capture(plan, io, chain) {
      const id = lastId++;
      const places = chain && placesOf(chain);
      await link.ask({ kind: 'capture', id, plan: message(plan, io, free()), chain: places });
      return capturedOf(link, id, io, chains ? chain : undefined, record);
    },
  };
}

const capturedOf = (
  link: Link,
  id: number,
  io: PlanIo,
  chain: PlanChain | undefined,
  record: Record,
): CapturedPlan => ({
  async replay(ranges, control) {
    const dirty = piecesOf(io.inputs, ranges);
    deliver(await link.ask<Ran>({ kind: 'replay', id, dirty, control }), io, record);
  },
  ...(chain && {
    async replayChain(
      limits: Int32Array,
      stops: Int32Array,
      ranges: readonly ByteRange[],
      control: Int32Array,
      onReplays?: (done: number) => void,
    ) {
      const dirty = piecesOf(io.inputs, ranges);
      const onTold = ({ done, tokens, counts }: Told) => {
        chain.results.set(tokens, (done - 1) * tokens.length);
        chain.counts.set(counts);
        onReplays?.(done);
      };
      const tells = onReplays !== undefined;
      const ran = await link.ask<Ran>({ kind: 'chain', id, dirty, control, limits, stops, tells }, onTold);
      deliver(ran, io, record);
      chain.results.set(ran.tokens!);
      chain.counts.set(ran.counts!);
      return ran.tokens!.length / ran.counts!.length;
    },
  }),
  dispose: () => link.tell({ kind: 'release', id }),
});
