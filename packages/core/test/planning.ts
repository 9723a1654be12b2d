import { type Cooperative, runAtOnce } from '../src/cooperative.js';
import type { DType, StepMemory, Tensor, WeightFormat } from '../src/index.js';
import { type FusionSupport, fusePlan } from '../src/plan/fuse.js';
import type { Plan } from '../src/plan/plan.js';
import type { PreparedPlan } from '../src/plan/prepare.js';
import { Recorder, type RecorderHost } from '../src/recorder.js';
import { LoadedWeight, OwnedKvBuffer } from '../src/resources.js';
import { RunQueue } from '../src/run-queue.js';
import { definitionDriver } from './definition-driver.js';

/** Stands for a backend: stores the plans of steps instead of running them. */
export class Planner implements RecorderHost {
  readonly name = 'planner';
  readonly disposed = false;
  readonly driver = definitionDriver();
  readonly queue = new RunQueue();
  private nextId = 0;
  private recorded: Plan | undefined;

  needSupport(): void {}

  *prepare(plan: Plan): Cooperative<PreparedPlan> {
    this.recorded = plan;
    return {
      opTimes: () => [],
      writeInput() {},
      kept: () => undefined,
      run: async () => {},
      capture: async () => {},
      handedAtOnce: true,
      chainsByDriver: false,
      runChain: async () => ({ tokens: new Int32Array(0), counts: new Int32Array(0) }),
      dispose() {},
    };
  }

  measure(): StepMemory {
    return { arenaBytes: 0, inputsBytes: 0, outputsBytes: 0 };
  }

  async runOnce(): Promise<void> {}

  weight(shape: readonly number[], format: WeightFormat = 'f32', name = 'w'): LoadedWeight {
    return new LoadedWeight(this, name, shape, format, { id: this.nextId++, byteLength: 0 });
  }

  /** Keys or values of a cache. */
  buffer([blocks, blockSize, heads, headDim]: readonly number[], dtype: DType = 'f32'): OwnedKvBuffer {
    const spec = { blocks: blocks!, blockSize: blockSize!, heads: heads!, headDim: headDim!, dtype };
    return new OwnedKvBuffer(this, spec, { id: this.nextId++ });
  }

  step(): Recorder {
    return new Recorder(this);
  }

  /** The plan of the ops recorded by `record`. */
  plan(record: (step: Recorder) => void): Plan {
    const step = this.step();
    record(step);
    runAtOnce(step.finish());
    return this.recorded!;
  }
}

/** An input of these dimensions. */
export function input(step: Recorder, ...shape: number[]): Tensor {
  return step.input(new Float32Array(shape.reduce((n, d) => n * d, 1)), shape);
}

export const indices = (step: Recorder, ...shape: number[]): Tensor =>
  step.input(new Int32Array(shape.reduce((n, d) => n * d, 1)), shape);

export const names = (plan: Plan): string[] => plan.ops.map(({ op }) => op.name);

/** The plan with every supported fused op. */
export const fuse = (plan: Plan, supported: FusionSupport): Plan => runAtOnce(fusePlan(plan, supported));
