import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Pooling } from '@quern/core';
import { openSafetensors } from '@quern/quant';
import { limits } from '../config/decoder-config.js';
import { readJsonList, readJsonObject } from '../config/read-json.js';
import { ownValue, Settings } from '../config/settings.js';
import { exists } from '../find-model.js';
import { safetensorsWeights, type WeightFile } from '../weights/weight-file.js';
import { labelNames, withLabelTokens } from './decoder-as-encoder.js';
import type { EmbeddingRules } from './encoder-parameters.js';

async function settingsIn(folder: string, ...names: string[]): Promise<Settings | undefined> {
  const path = join(folder, ...names);
  return (await exists(path)) ? new Settings(path, ownValue(await readJsonObject(path))) : undefined;
}

const poolingKeys: Readonly<Record<string, Pooling>> = {
  pooling_mode_cls_token: 'cls',
  pooling_mode_mean_tokens: 'mean',
  pooling_mode_lasttoken: 'last',
};

function readPooling(settings: Settings): Pooling {
  const chosen = Object.keys(poolingKeys).filter((key) => settings.flag(key));
  for (const other of ['max_tokens', 'mean_sqrt_len_tokens', 'weightedmean_tokens'])
    if (settings.flag(`pooling_mode_${other}`))
      settings.refuse(`pooling_mode_${other}`, 'texts are pooled by cls, mean or last token');
  if (chosen.length > 1)
    settings.refuse(chosen[1]!, `only one pooling is supported, and ${chosen[0]} is also on`);
  return poolingKeys[chosen[0] ?? 'pooling_mode_mean_tokens']!;
}

/** A module of a sentence-transformers folder: its class, and the folder of its own files. */
interface Module {
  readonly type: string;
  readonly path: string;
}

/** In order; undefined: the folder has no list. */
async function readModules(folder: string): Promise<readonly Module[] | undefined> {
  const path = join(folder, 'modules.json');
  if (!(await exists(path))) return undefined;
  return (await readJsonList(path)).map((module) => {
    const settings = new Settings(path, ownValue(module));
    return { type: settings.text('type'), path: settings.text('path', '') };
  });
}

/** What sentence-transformers' files in a model's folder say. */
export interface SentenceFiles {
  readonly embedding: EmbeddingRules;
  /** They say that the model embeds or ranks texts. */
  readonly present: boolean;
  /** Tensors of the model, and those that modules add. */
  readonly weights: WeightFile;
  readonly prompts: Readonly<Record<string, string>>;
}

/** Whether the folder of a model has such files. */
export const hasSentenceFiles = async (folder: string): Promise<boolean> =>
  (await exists(join(folder, 'modules.json'))) ||
  (await exists(join(folder, '1_Pooling', 'config.json'))) ||
  isQwen3Reranker(folder);

/** @param weights the model's own, under its architecture's names */
export async function readSentenceFiles(folder: string, weights: WeightFile): Promise<SentenceFiles> {
  const modules = await readModules(folder);
  const ofType = (end: string) => modules?.filter(({ type }) => type.endsWith(`.${end}`)) ?? [];
  const pooling = await settingsIn(folder, ofType('Pooling')[0]?.path || '1_Pooling', 'config.json');
  const transformer = await settingsIn(folder, 'sentence_bert_config.json');
  const { tensors } = weights; // a decoder's without a classifier: its output projection may be one
  const answers = tensors.has('model.embed_tokens.weight') && !tensors.has(labelNames[0]);
  const labels = answers ? await readLabels(folder, ofType('LogitScore')[0]) : undefined;
  let all = labels ? withLabelTokens(weights, ...labels) : weights;
  for (const [i, { path }] of ofType('Dense').entries()) all = await withDense(all, folder, path, i + 2);
  return {
    embedding: {
      pooling: pooling ? readPooling(pooling) : 'mean',
      normalise: modules ? ofType('Normalize').length > 0 : true,
      ...(transformer?.has('max_seq_length') && {
        maxTokens: transformer.whole('max_seq_length', limits.context),
      }),
    },
    present: await hasSentenceFiles(folder),
    weights: all,
    prompts:
      (await settingsIn(folder, 'config_sentence_transformers.json'))?.section('prompts')?.strings() ?? {},
  };
}

/** The matrix of a module after the pooling, as tensor `dense_N.weight`. */
async function withDense(file: WeightFile, folder: string, path: string, n: number): Promise<WeightFile> {
  const settings = await settingsIn(folder, path, 'config.json');
  if (settings?.flag('bias') !== false)
    settings?.refuse('bias', 'a matrix after the pooling is supported without bias only');
  const activation = settings?.text('activation_function', '') ?? '';
  if (activation !== '' && !activation.endsWith('.Identity'))
    settings?.refuse(
      'activation_function',
      'a matrix after the pooling is supported without activation only',
    );
  const { tensors } = safetensorsWeights(await openSafetensors(join(folder, path, 'model.safetensors')));
  const matrix = tensors.get('linear.weight');
  if (!matrix) return file;
  const name = `dense_${n}.weight`;
  return { ...file, tensors: new Map([...file.tensors, [name, { ...matrix, name }]]) };
}

/** Ids of the tokens that say yes and no: the model ranks by them. Undefined: no file says so. */
async function readLabels(
  folder: string,
  logitScore: Module | undefined,
): Promise<readonly [yes: number, no: number | undefined] | undefined> {
  const score = logitScore && (await settingsIn(folder, logitScore.path, 'config.json'));
  const id = (key: string) => score!.whole(key, limits.vocabulary, undefined, 0);
  if (score) return [id('true_token_id'), score.has('false_token_id') ? id('false_token_id') : undefined];
  return (await isQwen3Reranker(folder))
    ? [await tokenIn(folder, 'yes'), await tokenIn(folder, 'no')]
    : undefined;
}

/** Its config.json is that of a decoder: its name says that it ranks. */
async function isQwen3Reranker(folder: string): Promise<boolean> {
  const readme = join(folder, 'README.md');
  const text = (await exists(readme)) ? await readFile(readme, 'utf8') : '';
  return /^# Qwen3-Reranker/m.test(text) || /qwen3-reranker-[\d.]+b/i.test(folder);
}

async function tokenIn(folder: string, token: string): Promise<number> {
  const vocabulary = await settingsIn(folder, 'vocab.json');
  const tokens =
    vocabulary ?? (await settingsIn(folder, 'tokenizer.json'))?.section('model')?.section('vocab');
  return (tokens ?? new Settings(dirname(folder), () => undefined)).whole(
    token,
    limits.vocabulary,
    undefined,
    0,
  );
}
