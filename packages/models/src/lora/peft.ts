import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openSafetensors } from '@quern/quant';
import { readJsonObject } from '../config/read-json.js';
import { ownValue, Settings } from '../config/settings.js';
import { safetensorsWeights } from '../weights/weight-file.js';
import { badAdapter, type Half, pairUp, type StoredAdapter } from './stored-adapter.js';

const configName = 'adapter_config.json';
const weightsName = 'adapter_model.safetensors';

/** Settings that change more than W + scale · B · A, and what they do. */
const refusals: Readonly<Record<string, string>> = {
  use_dora: 'DoRA also changes the lengths of columns',
  use_qalora: 'QA-LoRA pools the inputs',
  lora_bias: 'the pairs have biases',
  fan_in_fan_out: 'the matrices are transposed',
  modules_to_save: 'the adapter replaces whole matrices',
  target_parameters: 'the adapter changes stacks of experts',
  trainable_token_indices: 'the adapter replaces rows of the embedding',
  alora_invocation_tokens: 'the adapter begins in the middle of a prompt',
  layer_replication: 'the adapter repeats layers',
};

/** Initialisations that move a part of the base's weights into the adapter. */
const movesWeights = /^(pissa|olora|corda|loftq|lora_ga)/;

/**
 * An adapter in the layout of Hugging Face's PEFT: a folder with adapter_config.json and adapter_model.safetensors, or
 * one of these files.
 * @throws ModelError NOT_FOUND, BAD_CONFIG, UNSUPPORTED_CONFIG, BAD_ADAPTER; FileError
 */
export async function openPeft(path: string): Promise<StoredAdapter> {
  const isFolder = (await stat(path)).isDirectory();
  const folder = isFolder ? path : dirname(path);
  const isWeights = !isFolder && basename(path) !== configName;
  const configPath = join(folder, configName);
  const metadata = await readJsonObject(configPath);
  const settings = new Settings(configPath, ownValue(metadata));
  refuseOthers(settings);
  const file = safetensorsWeights(await openSafetensors(isWeights ? path : join(folder, weightsName)));
  const scaleOf = scalesOf(settings);
  const pairs = pairUp(path, file.tensors.values(), halfOf, (matrix, rank) => scaleOf(matrix, rank));
  return { path, naming: 'huggingFace', pairs };
}

function refuseOthers(settings: Settings): void {
  const kind = settings.text('peft_type', 'LORA');
  if (kind !== 'LORA') settings.refuse('peft_type', 'Quern reads adapters of type LORA');
  for (const [key, why] of Object.entries(refusals)) if (isSet(settings, key)) settings.refuse(key, why);
  if (settings.text('bias', 'none') !== 'none') settings.refuse('bias', 'the adapter changes biases');
  if (isText(settings, 'init_lora_weights') && movesWeights.test(settings.text('init_lora_weights')))
    settings.refuse(
      'init_lora_weights',
      'the adapter fits only a base whose weights it changed; save it with path_initial_model_for_weight_conversion',
    );
}

const isText = (settings: Settings, key: string): boolean => typeof settings.raw(key) === 'string';

/** Whether a setting has a value other than its default: absent, false, or an empty list. */
function isSet(settings: Settings, key: string): boolean {
  const value = settings.raw(key);
  if (value === undefined || value === false) return false;
  return !(Array.isArray(value) && value.length === 0);
}

/** 'base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight' → 'model.layers.0.self_attn.q_proj.weight' */
function halfOf(name: string): Half | undefined {
  const found = /^base_model\.model\.(.+)\.lora_([AB])(?:\.default)?\.weight$/.exec(name);
  return found ? { matrix: `${found[1]}.weight`, side: found[2] === 'A' ? 'a' : 'b' } : undefined;
}

/** lora_alpha / r, or lora_alpha / √r with use_rslora (Kalajdzievski 2023); `alpha_pattern` has alphas of some modules. */
function scalesOf(settings: Settings): (matrix: string, rank: number) => number {
  const alpha = settings.positive('lora_alpha');
  const isStabilised = settings.flag('use_rslora') ?? false;
  const alphas = Object.entries(settings.section('alpha_pattern')?.numbers() ?? {});
  return (matrix, rank) => {
    const module = matrix.replace(/\.weight$/, '');
    const own = alphas.find(([pattern]) => matches(settings.path, pattern, module))?.[1] ?? alpha;
    return own / (isStabilised ? Math.sqrt(rank) : rank);
  };
}

/** PEFT's rule: the pattern is the end of the module's name, after a dot or alone. */
function matches(path: string, pattern: string, module: string): boolean {
  if (!/^[\w.^$]{1,200}$/.test(pattern))
    throw badAdapter(
      `${path}: alpha_pattern '${pattern.slice(0, 60)}' is a regular expression; Quern reads plain names of modules`,
    );
  const plain = pattern.replace(/^\^|\$$/g, '');
  const isWhole = pattern.startsWith('^');
  return module === plain || (!isWhole && module.endsWith(`.${plain}`));
}
