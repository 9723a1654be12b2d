import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { kvCacheBytes, stateBytes } from '@quern/core';
import { describeEncoder, describeModel, describeSpeech, findModel, ModelError } from '@quern/models';
import { isGgml, openGgml, openGguf, openSafetensors } from '@quern/quant';
import { locateModel, type ModelLocator } from '../model/locate-model.js';
import { type AnyModelFile, type ModelKind, openAnyModel } from '../model/open-any-model.js';

export interface DescribedTensor {
  readonly name: string;
  readonly format: string;
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  readonly byteLength: number;
}

/** The costs of a model of a known architecture. */
export interface DescribedModel {
  readonly kind: ModelKind;
  readonly architecture: string;
  /** Elements of all weights. */
  readonly parameters: number;
  /** Elements multiplied per token: excludes experts that are not chosen. Only for language models. */
  readonly activeParameters?: number;
  /** Bytes of weights read per generated token. Not for encoders. */
  readonly bytesPerToken?: number;
  /** Bytes of keys and values per token in a cache of f16, and of states of fixed size per sequence. Only for language models. */
  readonly cacheBytes?: { readonly perToken: number; readonly perSequence: number };
  /** Tensors of the file that the model does not read: the file may be of another model than its configuration says. */
  readonly unread: readonly string[];
}

/** The content of a model file. Works for unknown architectures too. */
export interface FileDescription {
  readonly path: string;
  /** 'ggml': a whisper.cpp file. */
  readonly kind: 'gguf' | 'safetensors' | 'ggml';
  /** Bytes of all tensors together. */
  readonly byteLength: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tensors: readonly DescribedTensor[];
  /** Most bytes first. */
  readonly formats: readonly {
    readonly format: string;
    readonly count: number;
    readonly byteLength: number;
  }[];
  /** Present where Quern can run the file (with its folder) as a model. */
  readonly model?: DescribedModel;
  /** Why Quern cannot run a model of a known architecture: a wrong configuration, missing tensors. */
  readonly modelError?: { readonly code: string; readonly message: string };
}

type Content = Pick<FileDescription, 'kind' | 'metadata' | 'tensors'>;

/** whisper.cpp's sizes under their names, and the tokens; bytes that are only part of a character become U+FFFD. */
async function readGgml(path: string): Promise<Content> {
  const { sizes, tokens, tensors } = await openGgml(path);
  const texts = tokens.map((bytes) => Buffer.from(bytes).toString('utf8'));
  return { kind: 'ggml', metadata: { ...Object.fromEntries(sizes), tokens: texts }, tensors };
}

async function readGguf(path: string): Promise<Content> {
  const { metadata, tensors } = await openGguf(path);
  return { kind: 'gguf', metadata: Object.fromEntries(metadata), tensors };
}

async function readSafetensors(path: string): Promise<Content> {
  const { tensors, metadata } = await openSafetensors(path);
  const described = tensors.map(({ dtype, ...tensor }) => ({ ...tensor, format: dtype }));
  return { kind: 'safetensors', metadata: Object.fromEntries(metadata), tensors: described };
}

function formatsOf(tensors: readonly DescribedTensor[]): FileDescription['formats'] {
  const totals = new Map<string, { count: number; byteLength: number }>();
  for (const { format, byteLength } of tensors) {
    const total = totals.get(format) ?? { count: 0, byteLength: 0 };
    totals.set(format, { count: total.count + 1, byteLength: total.byteLength + byteLength });
  }
  return [...totals]
    .map(([format, total]) => ({ format, ...total }))
    .sort((a, b) => b.byteLength - a.byteLength);
}

/**
 * The GGUF file that loading the folder would take; else the folder itself, if it has safetensors: a description needs
 * no config.json. Rejects with ModelError NO_MODEL and AMBIGUOUS_MODEL.
 */
async function inFolder(folder: string): Promise<string> {
  const names = await readdir(folder);
  const hasSafetensors = names.some((name) => /\.safetensors(\.index\.json)?$/.test(name));
  const ggufs = names.filter((name) => name.endsWith('.gguf'));
  if (hasSafetensors && (names.includes('config.json') || ggufs.length === 0)) return folder;
  if (ggufs.length === 1) return join(folder, ggufs[0]!);
  const found = await findModel(folder);
  return found.kind === 'gguf' ? found.path : found.weights;
}

async function resolvePath(located: string): Promise<string> {
  const path = basename(located) === 'config.json' ? dirname(located) : located;
  return (await stat(path)).isDirectory() ? inFolder(path) : path;
}

/** Codes of files that may hold anything but a model. */
const otherFiles: readonly string[] = ['NO_MODEL', 'NOT_FOUND', 'AMBIGUOUS_MODEL'];

async function modelOf(
  path: string,
  resolveFrom: string | undefined,
): Promise<Pick<FileDescription, 'model' | 'modelError'>> {
  try {
    return { model: describe(await openAnyModel(path, { resolveFrom })) };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const { code, message } = error;
    return otherFiles.includes(code) ? {} : { modelError: { code, message } };
  }
}

function describe({ kind, file }: AnyModelFile): DescribedModel {
  if (kind === 'speech') return { kind, architecture: 'whisper', ...describeSpeech(file) };
  const architecture = file.architecture.name;
  if (kind === 'encoder') {
    const { parameters, unread } = describeEncoder(file);
    return { kind, architecture, parameters, unread };
  }
  const { parameters, activeParameters, bytesPerToken, unread } = describeModel(file);
  const { config } = file;
  const cacheBytes = {
    perToken: kvCacheBytes({ ...config, dtype: 'f16' }, 1),
    perSequence: stateBytes(config),
  };
  return { kind, architecture, parameters, activeParameters, bytesPerToken, cacheBytes, unread };
}

async function readContent(path: string): Promise<Content> {
  if ((await stat(path)).isDirectory() || /\.(safetensors|index\.json)$/.test(path))
    return readSafetensors(path);
  return (await isGgml(path)) ? readGgml(path) : readGguf(path);
}

/**
 * Reads the header of a GGUF file (all its parts), a whisper.cpp file, a safetensors file, or the model in a folder.
 * Rejects with RuntimeError MODEL_NOT_FOUND, BAD_ARGUMENT, ModelError NO_MODEL and AMBIGUOUS_MODEL, and quant's
 * FileError.
 */
export async function describeFile(pathOrId: ModelLocator, resolveFrom?: string): Promise<FileDescription> {
  const path = await resolvePath(await locateModel('describeFile', pathOrId, resolveFrom));
  const { kind, metadata, tensors } = await readContent(path);
  return {
    path,
    kind,
    byteLength: tensors.reduce((sum, tensor) => sum + tensor.byteLength, 0),
    metadata,
    tensors: tensors.map(({ name, format, shape, byteLength }) => ({ name, format, shape, byteLength })),
    formats: formatsOf(tensors),
    ...(await modelOf(path, resolveFrom)),
  };
}
