import type { ByteRange, CapturedPlan, PlanDriver, PlanIo } from '@quern/core';

/** The parts of a driver with several plans in flight; each fault replaces one. */
export interface FlightParts {
  /** Input bytes at the call; the returned function gives them back when the device takes them. */
  take(inputs: ArrayBuffer, ranges: readonly ByteRange[]): () => readonly (readonly [number, Uint8Array])[];
  /** Calls `write` in its own event, just before the promise settles. */
  settle(write: () => void): Promise<void>;
  /** What a run must wait for. */
  after(runs: readonly Promise<unknown>[]): Promise<unknown>;
  /** The control word of a run. */
  control(own: Int32Array, io: PlanIo): Int32Array;
}

const copy = (inputs: ArrayBuffer, { from, to }: ByteRange) =>
  [from, new Uint8Array(inputs.slice(from, to))] as const;

export const rightFlight: FlightParts = {
  take(inputs, ranges) {
    const taken = ranges.map((range) => copy(inputs, range));
    return () => taken;
  },
  settle: (write) =>
    new Promise((resolve) =>
      setImmediate(() => {
        write();
        resolve();
      }),
    ),
  after: (runs) => Promise.allSettled(runs.slice(-1)),
  control: (own) => own,
};

/**
 * A driver with its own memory, over a driver that shares host memory: accepts two plans before the first has ended.
 */
export function inFlightDriver({ executor, ...driver }: PlanDriver, parts: FlightParts): PlanDriver {
  const runs: Promise<unknown>[] = [];

  /** Runs after the earlier plans, and copies the outputs when it settles. */
  function enter(io: PlanIo, own: PlanIo, run: () => Promise<void>): Promise<void> {
    const running = parts.after(runs).then(async () => {
      await run();
      const outputs = new Uint8Array(own.outputs.slice(0));
      return parts.settle(() => new Uint8Array(io.outputs).set(outputs));
    });
    runs.push(running.catch(() => {}));
    return running;
  }

  const ownIo = (io: PlanIo): PlanIo => ({
    ...io,
    inputs: new ArrayBuffer(io.inputs.byteLength),
    outputs: new ArrayBuffer(io.outputs.byteLength),
  });

  const upload = (own: PlanIo, pieces: readonly (readonly [number, Uint8Array])[]) => {
    for (const [from, bytes] of pieces) new Uint8Array(own.inputs).set(bytes, from);
  };

  return {
    ...driver,
    profile: { ...driver.profile, plansInFlight: 2 },
    executor: {
      execute(plan, io) {
        const own = ownIo(io);
        const taken = parts.take(io.inputs, [{ from: 0, to: io.inputs.byteLength }]);
        return enter(io, own, () => {
          upload(own, taken());
          return executor.execute(plan, own);
        });
      },
      capture(plan, io): CapturedPlan {
        const own = ownIo(io);
        return {
          replay(dirty, control) {
            const taken = parts.take(io.inputs, dirty);
            return enter(io, own, () => {
              upload(own, taken());
              return executor.execute(plan, { ...own, control: parts.control(control, io) });
            });
          },
          dispose() {},
        };
      },
    },
  };
}
