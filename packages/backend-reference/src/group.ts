import {
  BackendError,
  type collectiveOps,
  elements,
  type Kernel,
  type KernelDriver,
  type KernelMemory,
  type OpSupport,
  reductions,
} from '@quern/core';
import { referenceDriver } from './driver.js';

/** One collective call: the values of each rank, and the waiting ranks. */
interface Round {
  readonly values: (Float32Array | undefined)[];
  readonly waiting: { resolve(all: readonly Float32Array[]): void; reject(error: unknown): void }[];
}

/** Rounds of collective calls: call n of each rank belongs to round n. */
class Rounds {
  private readonly rounds = new Map<number, Round>();
  private readonly calls: number[];
  private gone: number | undefined;

  constructor(private readonly worldSize: number) {
    this.calls = Array.from({ length: worldSize }, () => 0);
  }

  /** Values of all ranks in this round, in rank order. Rejects with DEVICE_FAILED if a rank has left. */
  exchange(rank: number, values: Float32Array): Promise<readonly Float32Array[]> {
    if (this.gone !== undefined) return Promise.reject(this.left());
    const number = this.calls[rank]!++;
    const round = this.rounds.get(number) ?? { values: [], waiting: [] };
    this.rounds.set(number, round);
    round.values[rank] = values;
    const all = new Promise<readonly Float32Array[]>((resolve, reject) =>
      round.waiting.push({ resolve, reject }),
    );
    if (round.waiting.length === this.worldSize) {
      this.rounds.delete(number);
      for (const { resolve } of round.waiting) resolve(round.values as Float32Array[]);
    }
    return all;
  }

  leave(rank: number): void {
    this.gone ??= rank;
    for (const { waiting } of this.rounds.values()) for (const { reject } of waiting) reject(this.left());
    this.rounds.clear();
  }

  private left(): BackendError {
    return new BackendError('DEVICE_FAILED', `rank ${this.gone} of ${this.worldSize} has been disposed of`);
  }
}

const floatsOf = (operand: unknown): Float32Array => elements(operand as KernelMemory) as Float32Array;

const combine: Readonly<Record<number, (a: number, b: number) => number>> = {
  [reductions.sum]: (a, b) => a + b,
  [reductions.max]: Math.max,
  [reductions.min]: Math.min,
};

/** Drivers of `worldSize` ranks in one process: the reference for a group of devices. */
export function referenceGroup(worldSize: number): KernelDriver[] {
  const rounds = new Rounds(worldSize);
  const support: OpSupport = { dtypes: ['f32'] };
  return Array.from({ length: worldSize }, (_, rank) => {
    const driver = referenceDriver();
    const allReduce: Kernel = async ({ x }, { by }, [y]) => {
      const all = await rounds.exchange(rank, floatsOf(x).slice());
      floatsOf(y).forEach((_value, i, out) => {
        out[i] = all.map((values) => values[i]!).reduce((a, b) => combine[by!]!(a, b));
      });
    };
    const allGather: Kernel = async ({ x }, _attributes, [y]) => {
      const all = await rounds.exchange(rank, floatsOf(x).slice());
      let at = 0;
      for (const values of all) {
        floatsOf(y).set(values, at);
        at += values.length;
      }
    };
    const kernels = { allReduce, allGather } satisfies Record<keyof typeof collectiveOps, Kernel>;
    return {
      ...driver,
      name: `reference:${rank}`,
      capabilities: { ...driver.capabilities, collective: { worldSize, rank } },
      manifest: { ...driver.manifest, collective: { allReduce: support, allGather: support } },
      kernels: { ...driver.kernels, ...kernels },
      dispose() {
        rounds.leave(rank);
        driver.dispose();
      },
    };
  });
}
