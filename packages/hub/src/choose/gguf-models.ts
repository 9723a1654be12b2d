import { HubError } from '../error.js';
import { type GgufName, ggufName } from './gguf-name.js';

/** The files of one model: one, or all files of a split. */
export interface GgufModel {
  readonly stem: string;
  readonly quantisation: string | undefined;
  readonly count: number;
  /** In the order of the split. */
  readonly paths: readonly string[];
}

const baseOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

export const isGguf = (path: string): boolean => /\.gguf$/i.test(path);

/** The projector of a model that reads images or sound. */
export const isProjector = (path: string): boolean => isGguf(path) && /mmproj/i.test(baseOf(path));

/** Importance matrices are no models. */
const isModel = (path: string): boolean =>
  isGguf(path) && !isProjector(path) && !/imatrix/i.test(baseOf(path));

/** The models among paths. A split may lack files: `assertWhole`. */
export function ggufModels(paths: readonly string[]): GgufModel[] {
  const groups = new Map<string, GgufName[]>();
  for (const name of paths.filter(isModel).map(ggufName)) {
    const key = `${name.stem} ${name.count}`;
    groups.set(key, [...(groups.get(key) ?? []), name]);
  }
  return [...groups.values()].map((names) => {
    const [{ stem, quantisation, count }] = names as [GgufName];
    const sorted = names.sort((a, b) => a.index - b.index);
    return { stem, quantisation, count, paths: sorted.map(({ path }) => path) };
  });
}

export const isWhole = ({ count, paths }: GgufModel): boolean =>
  paths.length === count && paths.every((path, i) => ggufName(path).index === i + 1);

/** @throws HubError INCOMPLETE */
export function assertWhole(model: GgufModel, repository: string): void {
  if (!isWhole(model))
    throw new HubError(
      'INCOMPLETE',
      `hf:${repository} has ${model.paths.length} of the ${model.count} files of ${model.stem} (${model.paths.map(baseOf).join(', ')}): choose another quantisation, or tell the repository's owner`,
    );
}

/** Without a given quantisation: the first of these that a repository has. Small and good first, large ones last. */
export const quantisationOrder: readonly string[] = [
  ...[
    'Q4_K_M',
    'UD-Q4_K_XL',
    'Q4_K_L',
    'Q4_K_S',
    'Q4_K',
    'IQ4_XS',
    'IQ4_NL',
    'Q4_0',
    'Q4_1',
    'MXFP4',
    'MXFP4_MOE',
  ],
  ...['Q5_K_M', 'UD-Q5_K_XL', 'Q5_K_S', 'Q5_K', 'Q5_0', 'Q5_1', 'Q6_K', 'UD-Q6_K_XL', 'Q8_0', 'UD-Q8_K_XL'],
  ...['Q3_K_L', 'Q3_K_M', 'UD-Q3_K_XL', 'Q3_K_S', 'IQ3_M', 'IQ3_S', 'IQ3_XS', 'IQ3_XXS'],
  ...['F16', 'BF16', 'F32'],
];

/** Place in the order; unknown ones come after all known ones. */
const rank = ({ quantisation }: GgufModel): number => {
  const place = quantisation === undefined ? -1 : quantisationOrder.indexOf(quantisation);
  return place < 0 ? quantisationOrder.length : place;
};

/** All models of the first quantisation in the order. */
export function preferred(models: readonly GgufModel[]): readonly GgufModel[] {
  const best = Math.min(...models.map(rank));
  const first = models.filter((model) => rank(model) === best);
  return first.filter(({ quantisation }) => quantisation === first[0]!.quantisation);
}

/** Projectors are small: the one with 16-bit weights first. */
const projectorOrder = ['F16', 'BF16', 'Q8_0', 'F32'];

/** The projector of a folder's models; undefined: there is none. */
export function projectorOf(paths: readonly string[]): string | undefined {
  const places = paths.filter(isProjector).map((path) => {
    const place = projectorOrder.indexOf(ggufName(path).quantisation ?? '');
    return { path, place: place < 0 ? projectorOrder.length : place };
  });
  return places.sort((a, b) => a.place - b.place || (a.path < b.path ? -1 : 1))[0]?.path;
}
