import type { DType, TensorSpec } from '../dtype.js';
import type { ErrorSample, Sample } from '../testing/samples.js';
import type { WeightFormat } from '../weight.js';
import type { Numbers } from './numbers.js';

/** What may stand in an operand's place. */
export interface OperandRule {
  readonly kind: 'tensor' | 'weight' | 'buffer';
  /** Element types allowed; a weight's formats are the backend's affair. */
  readonly dtypes?: readonly DType[];
  readonly optional?: boolean;
  /** The op writes into it (buffers only). */
  readonly written?: boolean;
}

/** An attribute is static: whatever changes from step to step is a tensor instead. Enumerations are small integers. */
export type AttributeType = 'f32' | 'i32';

export interface OperandSpec {
  readonly shape: readonly number[];
  readonly dtype: DType | WeightFormat;
}

/** How far a kernel may stray: |got − want| ≤ absolute + relative · magnitude, magnitude = |want| or, for sums, Σ|terms|. */
export interface Tolerance {
  readonly absolute: number;
  readonly relative: number;
}

export type OperandRules = Readonly<Record<string, OperandRule>>;
export type AttributeRules = Readonly<Record<string, AttributeType>>;
export type Attributes<A extends AttributeRules> = { readonly [K in keyof A]: number };

type Present<O extends OperandRules, Value> = {
  readonly [K in keyof O]: O[K] extends { readonly optional: true } ? Value | undefined : Value;
};

/** An op: its documentation, shape rule, float64 definition, samples and tolerances, in one place. */
export interface Op<O extends OperandRules = OperandRules, A extends AttributeRules = AttributeRules> {
  readonly name: string;
  /** What it computes, with shapes. */
  readonly doc: string;
  /** Where the formula comes from, when it is not common knowledge. */
  readonly source?: string;
  /** In the order in which plans encode them. */
  readonly operands: O;
  readonly attributes: A;
  /** Names of the outputs, in order; plans encode them after the operands. */
  readonly outputs: readonly string[];
  /** What kernels check of the values of integer tensors and settings, which core cannot see: OUT_OF_RANGE where it does not hold. */
  readonly inRange?: string;
  /** Of a fused op: the recorded ops that it replaces, and when. Absent: plans are not rewritten to it. */
  readonly replaces?: string;
  /** The type the kernels sum in. */
  readonly accumulation: 'f32' | 'none';
  /** Shape rule. Throws BackendError (BAD_SHAPE, BAD_DTYPE, BAD_ARGUMENT) with the numbers. */
  infer(operands: Present<O, OperandSpec>, attributes: Attributes<A>): TensorSpec[];
  /** The float64 definition: fills `outputs` (and written buffers). Throws OUT_OF_RANGE as kernels must. */
  define(operands: Present<O, Numbers>, attributes: Attributes<A>, outputs: Numbers[]): void;
  /** Σ|terms| for each element of the outputs, where rounding errors grow with the terms and not with the sum. */
  magnitude?(operands: Present<O, Numbers>, attributes: Attributes<A>, outputs: Numbers[]): void;
  /**
   * How far off each element may be besides, where a weight is quantised: kernels may round the activations that it is
   * multiplied with to 8 bits, and with many rows the weight as well. For an op with an attribute `bf16`, what that allows.
   */
  rounding?(operands: Present<O, Numbers>, attributes: Attributes<A>, outputs: Numbers[]): void;
  /**
   * Where rounding may decide between values: the right ones for each element of the only output. Kernels give one of them; the
   * tolerance does not apply. Whatever a kernel gives, it gives for the same bits again.
   */
  choices?(operands: Present<O, Numbers>, attributes: Attributes<A>): readonly ReadonlySet<number>[];
  /** Keyed by the coarsest format among the operands: a dtype, a dense format, or 'quantised'. */
  readonly tolerance: Readonly<Record<string, Tolerance>>;
  readonly samples: () => readonly Sample[];
  readonly errors: () => readonly ErrorSample[];
}

/** Checks nothing, types everything: the definitions are the table. */
export function defineOp<const O extends OperandRules, const A extends AttributeRules>(
  op: Op<O, A>,
): Op<O, A> {
  return op;
}

/** An op whose operand and attribute names are known only at run time, as tables and drivers see it. */
export type AnyOp = Op<Readonly<Record<string, OperandRule>>, AttributeRules>;
