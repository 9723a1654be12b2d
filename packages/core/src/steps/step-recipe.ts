import type { Backend } from '../backend.js';
import type { ChainRule, Graph } from '../capability/graph.js';
import type { InputArray, Step } from '../step.js';
import type { Tensor } from '../tensor.js';

/** The inputs of a step, by name. */
export type StepArrays = Readonly<Record<string, InputArray>>;

/** The tensor of an input in the step that is being recorded; its shape is [length] where none is given. */
export type InputOf<Arrays extends StepArrays> = (
  name: keyof Arrays & string,
  shape?: readonly number[],
) => Tensor;

/** What a part leaves on its backend. */
export interface RecordedPart {
  /** Tensors that are kept, by name. */
  readonly outputs: Readonly<Record<string, Tensor>>;
  /** How a captured part replays in chains. A step of several parts has none. */
  readonly chain?: ChainRule;
}

/** The ops that one backend computes. */
export interface StepPart<Arrays extends StepArrays> {
  readonly backend: Backend;
  /** Captures the part. Absent: the part is recorded for each run. */
  readonly graph: Graph | undefined;
  record(step: Step, input: InputOf<Arrays>): RecordedPart;
}

/**
 * How a step is recorded: inputs of fixed lengths, and one part per backend. Parts run in order. An output of a part that
 * has the name of an input becomes that input of the parts after it.
 */
export interface StepRecipe<Arrays extends StepArrays> {
  readonly arrays: Arrays;
  readonly parts: readonly StepPart<Arrays>[];
}

/** Whether any part can be captured. */
export const canCapture = <Arrays extends StepArrays>({ parts }: StepRecipe<Arrays>): boolean =>
  parts.some(({ graph }) => graph !== undefined);
