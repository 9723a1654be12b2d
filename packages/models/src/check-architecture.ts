import { rules, showValue } from '@quern/core';
import { ModelError } from './error.js';

type Kind = keyof typeof kinds;

const kinds = {
  text: { must: 'a string', holds: (value: unknown) => typeof value === 'string' && value !== '' },
  name: { must: 'a string', holds: rules.text.holds },
  texts: { must: 'a list of strings', holds: rules.texts.holds },
  function: { must: 'a function', holds: (value: unknown) => typeof value === 'function' },
  object: { must: 'an object', holds: rules.isObject },
  number: { must: 'a number', holds: (value: unknown) => Number.isFinite(value) },
  whole: { must: 'a whole number', holds: (value: unknown) => Number.isInteger(value) },
  true: { must: 'true, or absent', holds: (value: unknown) => value === true },
  layout: {
    must: "'halves', 'interleaved' or 'kept'",
    holds: (value: unknown) => value === 'halves' || value === 'interleaved' || value === 'kept',
  },
  readBy: {
    must: "a function that names the functions of the decoder that read it: () => ['embed'], ['logits'] or both",
    holds: (value: unknown) => typeof value === 'function',
  },
} as const;

/** Fields of an object and their kinds; `?` at the end: optional. */
type Fields = Readonly<Record<string, Kind | `${Kind}?`>>;

const common = {
  'names.gguf': 'texts',
  'names.huggingFace': 'texts',
  'weights.model': 'object',
  'weights.layer': 'object',
  configFromGguf: 'function',
  configFromHuggingFace: 'function',
  build: 'function',
  accepts: 'function?',
  gguf: 'object?',
} as const satisfies Fields;

const ofDecoders = { ...common, rename: 'function?' } as const satisfies Fields;
const ofEncoders = { ...common, rename: 'function' } as const satisfies Fields;

const ggufForm = { name: 'text' } as const satisfies Fields;
const decoderForm = {
  ...ggufForm,
  rope: 'layout',
  windowPeriod: 'whole?',
  layerNorm: 'true?',
  metadata: 'function?',
  llamaCppDiffers: 'function?',
} as const satisfies Fields;

const entryFields = {
  gguf: 'name',
  huggingFace: 'name',
  shape: 'function',
  ggufApart: 'name?',
  rows: 'function?',
  ggufFused: 'object?',
  huggingFacePlus: 'number?',
  huggingFaceRows: 'function?',
  huggingFaceTransposed: 'true?',
  huggingFaceIsLog: 'true?',
  constant: 'function?',
  optional: 'true?',
  when: 'function?',
  readBy: 'readBy?',
  uses: 'function?',
  used: 'function?',
} as const satisfies Fields;

/** BAD_ARCHITECTURE: "architecture 'pumice': …" */
export const badArchitecture = (name: string, fault: string, options?: ErrorOptions): ModelError =>
  new ModelError('BAD_ARCHITECTURE', `architecture '${name}': ${fault}`, options);

/** The value of a field: 'names.gguf' is the field gguf of the field names. */
const valueAt = (object: unknown, path: string): unknown =>
  path.split('.').reduce((value, field) => (rules.isObject(value) ? value[field] : undefined), object);

/** The first field that is not of its kind: "weights.layer.q.shape must be a function; it is 3". */
function faultIn(object: unknown, fields: Fields, at = ''): string | undefined {
  for (const [path, wanted] of Object.entries(fields)) {
    const value = valueAt(object, path);
    const { must, holds } = kinds[wanted.replace('?', '') as Kind];
    if (holds(value) || (value === undefined && wanted.endsWith('?'))) continue;
    return `${at}${path} must be ${must}; it is ${showValue(value)}`;
  }
  return undefined;
}

function faultOfTable(weights: unknown, isEncoder: boolean): string | undefined {
  for (const part of ['model', 'layer'] as const)
    for (const [field, entry] of Object.entries(valueAt(weights, part) as object)) {
      const needsReadBy = part === 'model' && !isEncoder;
      const fields = needsReadBy ? { ...entryFields, readBy: 'readBy' as const } : entryFields;
      const fault = faultIn(entry, fields, `weights.${part}.${field}.`);
      if (fault) return fault;
    }
  return undefined;
}

/**
 * Checks an object of JavaScript, or of another version of this package.
 * @throws ModelError BAD_ARCHITECTURE, naming the first field that is wrong
 */
export function checkArchitecture(value: unknown): void {
  const name = valueAt(value, 'name');
  if (!kinds.text.holds(name))
    throw new ModelError(
      'BAD_ARCHITECTURE',
      `[registerArchitecture] an architecture is an object with a name (docs/writing-a-model.md); got ${showValue(value)}`,
    );
  const kind = valueAt(value, 'kind');
  if (kind !== undefined && kind !== 'encoder')
    throw badArchitecture(`${name}`, `kind must be 'encoder', or absent; it is ${showValue(kind)}`);
  const isEncoder = kind === 'encoder';
  const gguf = valueAt(value, 'gguf');
  const fault =
    faultIn(value, isEncoder ? ofEncoders : ofDecoders) ??
    faultOfTable(valueAt(value, 'weights'), isEncoder) ??
    (gguf === undefined ? undefined : faultIn(gguf, isEncoder ? ggufForm : decoderForm, 'gguf.'));
  if (fault) throw badArchitecture(`${name}`, fault);
}
