import type { CapturedGraph, ChainOptions, ChainResult } from '../capability/graph.js';
import type { HostArray } from '../dtype.js';
import { BackendError } from '../error.js';
import { yieldToEventLoop } from '../event-loop.js';
import type { InputArray, Step } from '../step.js';
import type { Tensor } from '../tensor.js';
import type { InputOf, RecordedPart, StepArrays, StepPart } from './step-recipe.js';

/** A part of a step that runs many times. */
export interface PartRun {
  /** Updates an input from element `at` on. An input that the part does not use is ignored. */
  write(name: string, values: InputArray, at: number): void;
  run(signal: AbortSignal | undefined): Promise<void>;
  /** Names of the outputs. */
  readonly outputs: Iterable<string>;
  /** An output of the last run: valid until the next. */
  read(name: string): HostArray;
  readonly disposed: boolean;
  dispose(): void;
}

/** A part that its backend has captured. */
export class CapturedPart implements PartRun {
  private constructor(
    private readonly graph: CapturedGraph,
    private readonly inputs: ReadonlyMap<string, Tensor>,
    private readonly tensors: ReadonlyMap<string, Tensor>,
    /** Whether the part runs in chains. */
    readonly chains: boolean,
  ) {}

  static async capture<Arrays extends StepArrays>(
    part: StepPart<Arrays>,
    arrays: Arrays,
  ): Promise<CapturedPart> {
    const step = part.backend.step();
    const inputs = new Map<string, Tensor>();
    const { outputs, chain } = part.record(step, inputsOf(step, arrays, inputs));
    keepAll(step, outputs);
    await yieldToEventLoop(); // recording and laying out a large plan take milliseconds each
    const graph = await part.graph!.capture(step, chain ? { chain } : {});
    return new CapturedPart(graph, inputs, new Map(Object.entries(outputs)), chain !== undefined);
  }

  get outputs(): Iterable<string> {
    return this.tensors.keys();
  }

  get disposed(): boolean {
    return this.graph.disposed;
  }

  write(name: string, values: InputArray, at: number): void {
    const input = this.inputs.get(name);
    if (input) this.graph.write(input, values, at);
  }

  run(signal: AbortSignal | undefined): Promise<void> {
    return this.graph.replay(signal ? { signal } : {});
  }

  chain(options: ChainOptions): Promise<ChainResult> {
    return this.graph.replayChain(options);
  }

  read(name: string): HostArray {
    return this.graph.read(this.tensors.get(name)!);
  }

  dispose(): void {
    this.graph.dispose();
  }
}

/** A part that is recorded anew for each run, with the inputs of that moment. */
export class RecordedRun<Arrays extends StepArrays> implements PartRun {
  readonly disposed = false;
  private values = new Map<string, HostArray>();

  constructor(
    private readonly part: StepPart<Arrays>,
    private readonly arrays: Arrays,
  ) {}

  get outputs(): Iterable<string> {
    return this.values.keys();
  }

  write(): void {} // recording reads the arrays

  async run(signal: AbortSignal | undefined): Promise<void> {
    using step = this.part.backend.step();
    const { outputs } = this.part.record(step, inputsOf(step, this.arrays, new Map()));
    keepAll(step, outputs);
    await yieldToEventLoop(); // recording and laying out a large plan take milliseconds each
    await step.run(signal ? { signal } : {});
    const values = new Map<string, HostArray>();
    for (const [name, tensor] of Object.entries(outputs)) values.set(name, await step.read(tensor));
    this.values = values;
  }

  read(name: string): HostArray {
    return this.values.get(name)!;
  }

  dispose(): void {}
}

/** Makes an input at its first use; `made` has all of them. */
function inputsOf<Arrays extends StepArrays>(
  step: Step,
  arrays: Arrays,
  made: Map<string, Tensor>,
): InputOf<Arrays> {
  return (name, shape) => {
    const known = made.get(name);
    if (known) return known;
    const values = arrays[name];
    if (!values) throw new BackendError('BAD_ARGUMENT', `the step has no input '${name}'`);
    const tensor = step.input(values, shape);
    made.set(name, tensor);
    return tensor;
  };
}

function keepAll(step: Step, outputs: RecordedPart['outputs']): void {
  for (const tensor of Object.values(outputs)) step.keep(tensor);
}
