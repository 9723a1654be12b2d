import type { CapturedGraph, ChainOptions } from '@quern/core';
import type { Case } from '../case.js';
import { fresh } from '../ops/fresh.js';
import { ensure, refusal } from '../values/refusal.js';
import { limits, most, P, path, run, same, sameRows, slotAt, slotWalk, V, walk } from './chain-walk.js';
import { proveUsable } from './errors.js';

const on = fresh('chain');

/** What a listener has heard: the tokens of each step. */
class Heard {
  readonly steps: Int32Array[] = [];
  private settled = false;
  private late = false;

  constructor(private readonly act: (step: number) => void = () => {}) {}

  readonly onTokens = (tokens: Int32Array, step: number): void => {
    this.late ||= this.settled;
    same('the number of the step', [step], [this.steps.length]);
    this.steps.push(tokens);
    this.act(step);
  };

  /** Runs a chain. Fails if a step is told after its end. */
  async run(graph: CapturedGraph, options: ChainOptions): Promise<number[][]> {
    const running = run(graph, { ...options, onTokens: this.onTokens });
    const [end] = await Promise.allSettled([running]);
    this.settled = true;
    await new Promise((resolve) => setImmediate(resolve));
    ensure(!this.late, 'a step was told after the chain had settled');
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  }

  /** `want`: the tokens of each row. */
  needAll(want: readonly (readonly number[])[]): void {
    same('the number of steps', [this.steps.length], [Math.max(...want.map(({ length }) => length))]);
    for (const [step, tokens] of this.steps.entries())
      same(
        `step ${step}`,
        tokens,
        want.map((row) => row[step] ?? -1),
      );
  }
}

const upTo = (tokens: readonly number[], stop: number): readonly number[] =>
  tokens.includes(stop) ? tokens.slice(0, tokens.indexOf(stop) + 1) : tokens;

/** Row numbers of a chain: one, few, and more than a warp, a wave and a small block of threads. */
const rowCounts = [1, 3, 17, 64, 256];

/** Chains of many rows, which end at different steps: by limits, and by a stop. */
export const rows: readonly Case[] = rowCounts.map((count) =>
  on(`S = ${count}: slots, limits and a stop`, async (backend) => {
    const all = Array.from({ length: count }, (_, row) => row);
    const [states, positions] = [all.map((row) => (3 + 5 * row) % V), all.map((row) => row % 3)];
    const counts = all.map((row) => 1 + ((5 + row) % (6 - positions[row]!)));
    const whole = all.map((row) => path(states[row]!, positions[row]!, counts[row]!, slotAt(row)));
    const stop = whole[count - 1]![1] ?? whole[0]![1]!;
    const want = whole.map((tokens) => upTo(tokens, stop));
    const heard = new Heard();
    const graph = await slotWalk(backend, states, positions);
    sameRows(await heard.run(graph, { limits: limits(...counts), stops: Int32Array.of(stop) }), want);
    heard.needAll(want);
  }),
);

/** Listeners of chains. */
export const listening: readonly Case[] = [
  on('a listener is called for each step once, in order, before the end', async (backend) => {
    const { graph } = await walk(backend, [3, 9, 3], [1, 0, 4]);
    const want = [path(3, 1, 2), path(9, 0, 6), path(3, 4, 1)];
    const heard = new Heard();
    sameRows(await heard.run(graph, { limits: limits(2, 6, 1) }), want);
    heard.needAll(want);
  }),
  on('the token of a stop is told, and none after it', async (backend) => {
    const whole = [path(3, 1, most), path(9, 0, most)];
    const { graph } = await walk(backend, [3, 9], [1, 0]);
    const stop = whole[0]![2]!;
    const heard = new Heard();
    await heard.run(graph, { limits: limits(most, most), stops: Int32Array.of(stop) });
    heard.needAll(whole.map((tokens) => upTo(tokens, stop)));
  }),
  on('listeners of chains that were requested together', async (backend) => {
    const { graph, states, positions } = await walk(backend, [3], [1]);
    const first = [3, 7, 5];
    const chains = first.map((state) => {
      graph.write(states, Int32Array.of(state));
      graph.write(positions, Int32Array.of(2));
      const heard = new Heard();
      return { heard, ended: heard.run(graph, { limits: limits(5) }) };
    });
    const found = await Promise.all(chains.map(({ ended }) => ended));
    for (const [i, state] of first.entries()) {
      sameRows(found[i]!, [path(state, 2, 5)]);
      chains[i]!.heard.needAll([path(state, 2, 5)]);
    }
  }),
  on('a listener that lowers a limit', async (backend) => {
    const { graph } = await walk(backend, [3, 9], [1, 0]);
    const lowered = limits(most, 3);
    const heard = new Heard((step) => step === 1 && lowered.fill(0));
    const [first, second] = await heard.run(graph, { limits: lowered });
    ensure(
      first!.length >= 2,
      `the listener was told of 2 steps, but the first row has ${first!.length} tokens`,
    );
    sameRows([first!, second!], [path(3, 1, first!.length), path(9, 0, Math.min(3, first!.length))]);
    heard.needAll([first!, second!]);
  }),
  ...[0, 2, most - 1].map((last) =>
    on(`an error of the listener at step ${last}`, async (backend) => {
      const { graph, states, positions } = await walk(backend, [3], [1]);
      const error = new Error('the listener has failed');
      const heard = new Heard((step) => {
        if (step === last) throw error;
      });
      const [end] = await Promise.allSettled([heard.run(graph, { limits: limits(most) })]);
      ensure(
        end.status === 'rejected' && end.reason === error,
        'the chain should reject with the error of its listener',
      );
      heard.needAll([path(3, 1, last + 1)]);
      graph.write(states, Int32Array.of(3));
      graph.write(positions, Int32Array.of(1));
      sameRows(await run(graph, { limits: limits(most) }), [path(3, 1, most)]);
    }),
  ),
  on('a listener of a chain that fails', async (backend) => {
    const { graph } = await walk(backend, [3], [P - 2]);
    const heard = new Heard();
    await refusal('OUT_OF_RANGE', () => heard.run(graph, { limits: limits(3) }));
    ensure(heard.steps.length <= 2, 'the failed step was told');
    if (heard.steps.length > 0) heard.needAll([path(3, P - 2, heard.steps.length)]);
    await proveUsable(backend);
  }),
];
