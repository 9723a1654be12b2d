import type { Backend } from '../backend.js';
import type { ChainRule, Graph } from '../capability/graph.js';
import type { InputArray, Step } from '../step.js';
import type { Tensor } from '../tensor.js';

/** The inputs of a step, by name. */
export type StepArrays = Readonly<Record<string, InputArray>>;

/** The tensor of an input in the recording step; default shape [length]. */
export type InputOf<Arrays extends StepArrays> = (
  name: keyof Arrays & string,
  shape?: readonly number[],
) => Tensor;

/** The result of recording a part on its backend. */
export interface RecordedPart {
  /** Kept tensors, by name. */
  readonly outputs: Readonly<Record<string, Tensor>>;
  /** Chain rule of a captured part. Steps of several parts have none. */
  readonly chain?: ChainRule;
}

/** The ops of one backend. */
export interface StepPart<Arrays extends StepArrays> {
  readonly backend: Backend;
  /** Captures the part. Absent: the part is recorded for each run. */
  readonly graph: Graph | undefined;
  record(step: Step, input: InputOf<Arrays>): RecordedPart;
}

/**
 * How to record a step: inputs of fixed lengths, and one part per backend. Parts run in order. An output with the name
 * of an input becomes this input of the later parts.
 */
export interface StepRecipe<Arrays extends StepArrays> {
  readonly arrays: Arrays;
  readonly parts: readonly StepPart<Arrays>[];
}

/** Whether any part can be captured. */
export const canCapture = <Arrays extends StepArrays>({ parts }: StepRecipe<Arrays>): boolean =>
  parts.some(({ graph }) => graph !== undefined);
