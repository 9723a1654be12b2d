import type { DType, TensorSpec } from '../dtype.js';
import type { ErrorSample, Sample } from '../testing/samples.js';
import type { WeightFormat } from '../weight.js';
import { needWholeAttributes, plannedAttributes } from './attributes.js';
import type { Numbers } from './numbers.js';

/** Rule of one operand. */
export interface OperandRule {
  readonly kind: 'tensor' | 'weight' | 'buffer';
  /** Allowed element types. The backend decides on formats of weights. */
  readonly dtypes?: readonly DType[];
  readonly optional?: boolean;
  /**
   * An optional operand that joined the op later, behind the others: a driver takes it only if its manifest lists it in
   * `takes`; plans without it are those of before.
   */
  readonly claimed?: true;
  /** The op writes into it (buffers only). */
  readonly written?: boolean;
}

/** Attributes are static: values that change from step to step are tensors. Enumerations are small integers. */
export type AttributeType = 'f32' | 'i32';

export interface OperandSpec {
  readonly shape: readonly number[];
  readonly dtype: DType | WeightFormat;
}

/**
 * Allowed error of a kernel: |got − want| ≤ absolute + relative · magnitude; magnitude = |want|, or Σ|terms| for sums.
 */
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

type Define<O extends OperandRules, A extends AttributeRules> = Op<O, A>['define'];

/** An op: its documentation, shape rule, float64 definition, samples and tolerances, in one place. */
export interface Op<O extends OperandRules = OperandRules, A extends AttributeRules = AttributeRules> {
  readonly name: string;
  /** The computation, with shapes. */
  readonly doc: string;
  /** Source of the formula, if it is not common knowledge. */
  readonly source?: string;
  /** In encoding order. */
  readonly operands: O;
  readonly attributes: A;
  /** Names of the outputs, in order; plans encode them after the operands. */
  readonly outputs: readonly string[];
  /** Kernels' check of values in integer tensors and settings, which core cannot see. OUT_OF_RANGE otherwise. */
  readonly inRange?: string;
  /** Only for fused ops: the replaced ops, and the conditions. Absent: core does not rewrite plans to this op. */
  readonly replaces?: string;
  /** The type of the kernels' sums. */
  readonly accumulation: 'f32' | 'none';
  /** Shape rule. Throws BackendError (BAD_SHAPE, BAD_DTYPE, BAD_ARGUMENT) with the numbers. */
  infer(operands: Present<O, OperandSpec>, attributes: Attributes<A>): TensorSpec[];
  /**
   * The float64 definition: fills `outputs` (and written buffers). Throws OUT_OF_RANGE as kernels must. An attribute f32 has the
   * 32 bits that kernels get.
   */
  define(operands: Present<O, Numbers>, attributes: Attributes<A>, outputs: Numbers[]): void;
  /** Σ|terms| for each output element, if rounding errors grow with the terms and not with the sum. */
  magnitude?(operands: Present<O, Numbers>, attributes: Attributes<A>, outputs: Numbers[]): void;
  /**
   * Extra error allowed per element. For quantised weights: kernels may round the activations to 8 bits, and with many
   * rows the weight too. For an op with an attribute `bf16`: the error of that rounding.
   */
  rounding?(operands: Present<O, Numbers>, attributes: Attributes<A>, outputs: Numbers[]): void;
  /**
   * For ops where rounding may choose between values: the right values of each element of the only output. A kernel
   * gives one of them; the tolerance does not apply. Same input bits must give the same value again.
   */
  choices?(operands: Present<O, Numbers>, attributes: Attributes<A>): readonly ReadonlySet<number>[];
  /** Key: the coarsest format among the operands: a dtype, a dense format, or 'quantised'. */
  readonly tolerance: Readonly<Record<string, Tolerance>>;
  readonly samples: () => readonly Sample[];
  readonly errors: () => readonly ErrorSample[];
}

/**
 * Infers the types. The functions of the result receive attributes as a plan carries them: f32 in 32 bits. `infer` throws
 * BAD_ARGUMENT for an i32 that is not whole.
 */
export function defineOp<const O extends OperandRules, const A extends AttributeRules>(
  op: Op<O, A>,
): Op<O, A> {
  const { infer, define, magnitude, rounding, choices } = op;
  const planned = (attributes: Attributes<A>) => plannedAttributes(op, attributes) as Attributes<A>;
  const withPlanned =
    (compute: Define<O, A>): Define<O, A> =>
    (operands, attributes, outputs) =>
      compute.call(op, operands, planned(attributes), outputs);
  return {
    ...op,
    infer(operands, attributes) {
      const all = planned(attributes);
      needWholeAttributes(op, all);
      return infer.call(op, operands, all);
    },
    define: withPlanned(define),
    ...(magnitude && { magnitude: withPlanned(magnitude) }),
    ...(rounding && { rounding: withPlanned(rounding) }),
    ...(choices && {
      choices: (operands: Present<O, Numbers>, attributes: Attributes<A>) =>
        choices.call(op, operands, planned(attributes)),
    }),
  };
}

/** An op whose operand and attribute names are known only at run time, for tables and drivers. */
export type AnyOp = Op<Readonly<Record<string, OperandRule>>, AttributeRules>;
