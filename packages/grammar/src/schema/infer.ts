/** The type of values that fit a schema given `as const`; unknown where the schema says nothing this type can read. */
export type InferSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly anyOf: readonly (infer A)[] } | { readonly oneOf: readonly (infer A)[] }
      ? InferSchema<A>
      : S extends { readonly type: infer T }
        ? InferType<S, T>
        : unknown;

type InferType<S, T> = T extends readonly (infer Each)[]
  ? InferType<S, Each>
  : T extends 'string'
    ? string
    : T extends 'number' | 'integer'
      ? number
      : T extends 'boolean'
        ? boolean
        : T extends 'null'
          ? null
          : T extends 'array'
            ? InferArray<S>
            : T extends 'object'
              ? InferObject<S>
              : unknown;

type InferArray<S> = S extends { readonly prefixItems: unknown }
  ? unknown[]
  : S extends { readonly items: infer I }
    ? InferSchema<I>[]
    : unknown[];

type InferObject<S> = S extends { readonly properties: infer P }
  ? { [K in keyof P & Required<S>]: InferSchema<P[K]> } & {
      [K in Exclude<keyof P, Required<S>>]?: InferSchema<P[K]>;
    }
  : Record<string, unknown>;

type Required<S> = S extends { readonly required: readonly (infer K)[] } ? K : never;
