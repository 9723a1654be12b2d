import type { Value } from './value.js';

export interface CallArguments {
  readonly positional: readonly Expression[];
  readonly keyword: readonly (readonly [name: string, value: Expression])[];
  /** `*values` */
  readonly spread?: Expression | undefined;
  /** `**values` */
  readonly keywordSpread?: Expression | undefined;
}

export type CompareOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in';
export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**';

export type Expression =
  | { readonly kind: 'constant'; readonly value: Value }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | { readonly kind: 'tuple'; readonly items: readonly Expression[] }
  | { readonly kind: 'concat'; readonly items: readonly Expression[] }
  | { readonly kind: 'dict'; readonly pairs: readonly (readonly [Expression, Expression])[] }
  | { readonly kind: 'attribute'; readonly object: Expression; readonly name: string }
  | { readonly kind: 'item'; readonly object: Expression; readonly index: Expression }
  | {
      readonly kind: 'slice';
      readonly object: Expression;
      readonly start: Expression | undefined;
      readonly stop: Expression | undefined;
      readonly step: Expression | undefined;
    }
  | { readonly kind: 'call'; readonly callee: Expression; readonly args: CallArguments }
  | FilterNode
  | { readonly kind: 'test'; readonly input: Expression; readonly name: string; readonly args: CallArguments }
  | {
      readonly kind: 'compare';
      readonly first: Expression;
      readonly rest: readonly (readonly [CompareOperator, Expression])[];
    }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'and'; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'or'; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'not'; readonly value: Expression }
  | { readonly kind: 'negate'; readonly value: Expression }
  | { readonly kind: 'plus'; readonly value: Expression }
  | {
      readonly kind: 'condition';
      readonly test: Expression;
      readonly whenTrue: Expression;
      readonly whenFalse: Expression | undefined;
    };

export interface FilterNode {
  readonly kind: 'filter';
  /** Absent: the content of the filter block. */
  readonly input: Expression | undefined;
  readonly name: string;
  readonly args: CallArguments;
}

/** The target of `for` and `set`. */
export type Target =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'field'; readonly object: string; readonly name: string }
  | { readonly kind: 'targets'; readonly items: readonly Target[] };

export interface Parameter {
  readonly name: string;
  readonly default: Expression | undefined;
}

export interface MacroBody {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly body: Block;
  /** Names that the body uses: a macro gets `varargs`, `kwargs` and `caller` only if its body uses them. */
  readonly takes: { readonly varargs: boolean; readonly kwargs: boolean; readonly caller: boolean };
}

export type Block = readonly Statement[];

export interface ForNode {
  readonly kind: 'for';
  readonly target: Target;
  readonly iterable: Expression;
  readonly filter: Expression | undefined;
  readonly recursive: boolean;
  readonly body: Block;
  readonly otherwise: Block;
}

export type Statement =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly value: Expression }
  | {
      readonly kind: 'if';
      readonly branches: readonly { readonly test: Expression; readonly body: Block }[];
      readonly otherwise: Block;
    }
  | ForNode
  | { readonly kind: 'set'; readonly target: Target; readonly value: Expression }
  | {
      readonly kind: 'capture';
      readonly target: Target;
      readonly filter: FilterNode | undefined;
      readonly body: Block;
    }
  | { readonly kind: 'macro'; readonly macro: MacroBody }
  | {
      readonly kind: 'call';
      readonly callee: Expression;
      readonly args: CallArguments;
      readonly caller: MacroBody;
    }
  | { readonly kind: 'filter block'; readonly filter: FilterNode; readonly body: Block }
  | {
      readonly kind: 'scope';
      readonly values: readonly (readonly [Target, Expression])[];
      readonly body: Block;
    }
  | { readonly kind: 'break' | 'continue' };
