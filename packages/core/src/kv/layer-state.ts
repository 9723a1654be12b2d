import { dtypeBytes } from '../dtype.js';
import { BackendError } from '../error.js';

/** A part of a state of fixed size: heads · width f32 values per sequence. */
export interface StatePart {
  readonly heads: number;
  readonly width: number;
}

/**
 * What a layer keeps between steps. 'kv': keys and values of each token. 'state': parts of fixed size per sequence, which
 * each step replaces.
 */
export type LayerState =
  | { readonly kind: 'kv'; readonly heads: number; readonly headDim: number }
  | { readonly kind: 'state'; readonly parts: Readonly<Record<string, StatePart>> };

/** What the layers of a cache keep. */
export interface LayerStates {
  readonly layers: number;
  /** Hk, of layers without an entry in `layerStates`. */
  readonly kvHeads: number;
  /** d, of the same. */
  readonly headDim: number;
  /** Per layer; absent: keys and values of `kvHeads` heads of `headDim` values. */
  readonly layerStates?: readonly (LayerState | undefined)[] | undefined;
}

/** Of layer i. */
export const layerStateOf = ({ kvHeads: heads, headDim, layerStates }: LayerStates, i: number): LayerState =>
  layerStates?.[i] ?? { kind: 'kv', heads, headDim };

/** Whether a layer keeps a state of fixed size. */
export const hasStates = ({ layerStates }: Pick<LayerStates, 'layerStates'>): boolean =>
  layerStates?.some((state) => state?.kind === 'state') ?? false;

/** Bytes of the states of one sequence, in all layers. */
export function stateBytes({ layers, layerStates }: Pick<LayerStates, 'layers' | 'layerStates'>): number {
  let values = 0;
  for (const state of layerStates?.slice(0, layers) ?? [])
    if (state?.kind === 'state')
      for (const { heads, width } of Object.values(state.parts)) values += heads * width;
  return values * dtypeBytes.f32;
}

/** @throws BackendError BAD_ARGUMENT */
export function needLayerStates({ layers, layerStates }: LayerStates): void {
  if (layerStates && layerStates.length !== layers)
    throw new BackendError(
      'BAD_ARGUMENT',
      `a cache of ${layers} layers needs ${layers} layerStates, or none; got ${layerStates.length}`,
    );
  for (const [i, state] of layerStates?.entries() ?? []) {
    const sizes =
      state?.kind === 'state' ? Object.values(state.parts).flatMap(({ heads, width }) => [heads, width]) : [];
    if (state?.kind === 'kv') sizes.push(state.heads, state.headDim);
    const bad = sizes.find((size) => !(Number.isSafeInteger(size) && size > 0));
    if (bad !== undefined)
      throw new BackendError(
        'BAD_ARGUMENT',
        `layerStates[${i}] needs sizes that are whole numbers above 0; got ${bad}`,
      );
  }
}
