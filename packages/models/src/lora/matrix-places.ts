import type { Architecture } from '../architecture.js';
import type { DecoderConfig } from '../config/decoder-config.js';
import type { Naming } from '../weights/weight-file.js';
import type { RowRange, WeightEntry } from '../weights/weight-table.js';
import { badAdapter } from './stored-adapter.js';

/** A parameter that is `rows` rows of a matrix in files, from row `from` on. */
export interface MatrixPlace {
  readonly layer: number;
  readonly field: string;
  readonly from: number;
  /** The row of the whole matrix that holds the parameter's row; absent: `from + row`. */
  rowOf?(row: number): number;
  readonly rows: number;
  /** Rows of the whole matrix. */
  readonly of: number;
  readonly columns: number;
}

type Places = readonly [MatrixPlace, ...MatrixPlace[]];

export interface MatrixPlaces {
  /**
   * The parameters that lie in a matrix of a layer.
   * @param path the adapter, for the message
   * @throws ModelError BAD_ADAPTER for any other matrix
   */
  find(path: string, matrix: string): Places;
}

/** The router of a mixture decides which experts compute: its products are no plain op on every backend. */
const isRouter = (field: string): boolean => field === 'router';

/** The matrices of layers by their name in files of this kind. */
export function matrixPlaces(
  { name, weights }: Architecture,
  config: DecoderConfig,
  naming: Naming,
): MatrixPlaces {
  const places = new Map<string, [MatrixPlace, ...MatrixPlace[]]>();
  for (let layer = 0; layer < config.layers; layer++)
    for (const [field, entry] of Object.entries(weights.layer)) {
      const place = placeOf(field, entry, config, { layer, naming });
      if (!place) continue;
      const matrix = entry[naming].replace('{i}', String(layer));
      const others = places.get(matrix);
      if (others) others.push(place);
      else places.set(matrix, [place]);
    }
  const known = (matrix: string) => places.get(matrix) ?? places.get(`model.${matrix}`);
  return {
    find(path, matrix) {
      const found = known(matrix);
      if (found) return found;
      throw badAdapter(
        `${path}: changes '${matrix}', which Quern cannot adapt in a model of architecture '${name}' with ${config.layers} layers; ` +
          `it adapts ${moduleNames(places.keys())} of the layers`,
      );
    },
  };
}

function placeOf(
  field: string,
  entry: WeightEntry,
  config: DecoderConfig,
  { layer, naming }: { readonly layer: number; readonly naming: Naming },
): MatrixPlace | undefined {
  if (isRouter(field) || (entry.when && !entry.when(config, layer))) return undefined;
  if (entry.uses?.(config).every((use) => use === 'embed')) return undefined; // rows by index: no product
  const [rows, columns, ...more] = entry.shape(config);
  if (columns === undefined || more.length > 0) return undefined;
  const fused = entry.rows?.(config) ?? { from: 0, of: rows! };
  const own = 'ranges' in fused ? listed(fused.ranges) : undefined;
  const from = 'from' in fused ? fused.from : 0;
  const order = naming === 'huggingFace' ? entry.huggingFaceRows?.(config) : undefined;
  const stored = order && listed(order);
  const inWhole = (row: number) => own?.[row] ?? from + row;
  return {
    ...{ layer, field, from, rows: rows!, of: fused.of, columns },
    ...((own || stored) && { rowOf: (row: number) => stored?.[inWhole(row)] ?? inWhole(row) }),
  };
}

/** The rows of ranges, one by one. */
const listed = (ranges: readonly RowRange[]): readonly number[] =>
  ranges.flatMap(([first, count]) => Array.from({ length: count }, (_, row) => first + row));

/** 'model.layers.0.self_attn.q_proj.weight' → 'q_proj', each once. */
const moduleNames = (matrices: Iterable<string>): string =>
  [...new Set(Array.from(matrices, (name) => name.split('.').at(-2)!))].join(', ');
