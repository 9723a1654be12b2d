import { HubError } from '../error.js';
import { type HubName, showName } from '../name/parse-name.js';
import { assertWhole, type GgufModel, ggufModels, isGguf, preferred, projectorOf } from './gguf-models.js';
import { ggufName, sameQuantisation } from './gguf-name.js';
import { safetensorsFiles } from './safetensors.js';

/** The files of a repository that a name selects. */
export interface Choice {
  readonly kind: 'gguf' | 'safetensors' | 'whisper';
  /** The model's first file; of safetensors, config.json. */
  readonly main: string;
  /** All files, the projector too. */
  readonly paths: readonly string[];
  readonly quantisation?: string | undefined;
  readonly projector?: string | undefined;
}

/**
 * One quantisation of GGUF with all files of its split and its projector; else a safetensors folder.
 * @throws HubError NOT_FOUND, NO_MODEL, NO_QUANTISATION, AMBIGUOUS, INCOMPLETE
 */
export function chooseFiles(paths: readonly string[], name: HubName): Choice {
  const { selector } = name;
  if (selector.kind === 'path') return byPath(paths, selector.path, name);
  const models = ggufModels(paths);
  if (selector.kind === 'quantisation') return byQuantisation(paths, models, selector.quantisation, name);
  if (models.length > 0) return ofModel(paths, onlyOne(preferred(models), name), name);
  return ofFolder(paths, name);
}

function byPath(paths: readonly string[], path: string, name: HubName): Choice {
  if (!paths.includes(path))
    throw new HubError('NOT_FOUND', `hf:${name.repository} has no file ${path}; ${inventory(paths)}`);
  if (!isGguf(path)) return { kind: 'whisper', main: path, paths: [path] };
  const { stem, count, quantisation } = ggufName(path);
  const model = ggufModels(paths).find((each) => each.stem === stem && each.count === count);
  return model ? ofModel(paths, model, name) : { kind: 'gguf', main: path, paths: [path], quantisation };
}

function byQuantisation(
  paths: readonly string[],
  models: readonly GgufModel[],
  wanted: string,
  name: HubName,
): Choice {
  const found = models.filter(
    ({ quantisation }) => quantisation !== undefined && sameQuantisation(quantisation, wanted),
  );
  if (found.length > 0) return ofModel(paths, onlyOne(found, name), name);
  const known = [...new Set(models.flatMap(({ quantisation }) => quantisation ?? []))];
  const advice = known.length > 0 ? `it has ${known.join(', ')}` : inventory(paths);
  throw new HubError('NO_QUANTISATION', `hf:${name.repository} has no GGUF file in ${wanted}; ${advice}`);
}

/** @throws HubError AMBIGUOUS */
function onlyOne(models: readonly GgufModel[], name: HubName): GgufModel {
  if (models.length === 1) return models[0]!;
  const shown = models.map(({ paths }) => paths[0]!);
  const { repository, revision } = name;
  const example = showName({ repository, revision, selector: { kind: 'path', path: shown[0]! } });
  throw new HubError(
    'AMBIGUOUS',
    `hf:${repository} has ${models.length} models that fit (${listed(shown)}): choose one by its path, as ${example}`,
  );
}

function ofModel(paths: readonly string[], model: GgufModel, { repository }: HubName): Choice {
  assertWhole(model, repository);
  const projector = projectorOf(paths);
  return {
    kind: 'gguf',
    main: model.paths[0]!,
    paths: [...model.paths, ...(projector === undefined ? [] : [projector])],
    quantisation: model.quantisation,
    projector,
  };
}

function ofFolder(paths: readonly string[], { repository }: HubName): Choice {
  const files = safetensorsFiles(paths);
  if (files.length > 0) return { kind: 'safetensors', main: 'config.json', paths: files };
  throw new HubError(
    'NO_MODEL',
    `hf:${repository} has no GGUF file, and no config.json with safetensors; ${inventory(paths)}`,
  );
}

const maxShown = 12;

function listed(paths: readonly string[]): string {
  const more = paths.length - maxShown;
  return `${paths.slice(0, maxShown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const inventory = (paths: readonly string[]): string =>
  paths.length === 0 ? 'it is empty' : `it has ${listed([...paths].sort(byInterest))}`;

/** Models before configuration before the rest. */
const interest = (path: string): number =>
  [/\.(gguf|safetensors|bin)$/i, /\.json$/i, /./].findIndex((each) => each.test(path));

const byInterest = (a: string, b: string): number => interest(a) - interest(b) || (a < b ? -1 : 1);
