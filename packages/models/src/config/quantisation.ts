import type { Settings } from './settings.js';

/** How the matrices of a Hugging Face folder are quantised. */
export type Quantisation = GptqSettings | AwqSettings | F8Settings;

export interface GptqSettings {
  readonly method: 'gptq';
  readonly bits: 4 | 8;
  /** Columns per scale; −1: all columns. */
  readonly groupSize: number;
  /** Stored zero point: zero point − 1 (version 1) or zero point (version 2). */
  readonly version: 1 | 2;
}

export interface AwqSettings {
  readonly method: 'awq';
  readonly groupSize: number;
}

export interface F8Settings {
  readonly method: 'f8';
  /** Rows and columns per scale, for two-dimensional scales. */
  readonly block?: readonly [rows: number, columns: number];
}

const largestGroup = 2 ** 20;

/**
 * `quantization_config` of config.json; undefined: absent.
 * @throws ModelError BAD_CONFIG, or UNSUPPORTED_CONFIG for an unknown method.
 */
export function readQuantisation(settings: Settings): Quantisation | undefined {
  const section = settings.section('quantization_config');
  const method = section?.text('quant_method', '');
  if (!section) return undefined;
  if (method === 'gptq') return gptq(section);
  if (method === 'awq') return awq(section);
  if (method === 'fp8') return f8(section);
  if (method === 'fbgemm_fp8') return { method: 'f8' };
  if (method === 'compressed-tensors' && section.text('format', '') === 'float-quantized')
    return { method: 'f8' };
  return section.refuse(
    'quant_method',
    'weights quantised this way are not read (gptq, awq and fp8 are); use a GGUF file of the model',
  );
}

function gptq(section: Settings): GptqSettings {
  const bits = section.whole('bits', 8, undefined, 2);
  if (bits !== 4 && bits !== 8) section.refuse('bits', 'GPTQ weights of 4 and 8 bits are read');
  const format = section.text('checkpoint_format', 'gptq');
  if (format !== 'gptq' && format !== 'gptq_v2')
    section.refuse('checkpoint_format', 'gptq and gptq_v2 are read');
  return {
    method: 'gptq',
    bits: bits === 4 ? 4 : 8,
    groupSize: groupSize(section),
    version: format === 'gptq' ? 1 : 2,
  };
}

function awq(section: Settings): AwqSettings {
  if (section.whole('bits', 8, 4) !== 4) section.refuse('bits', 'AWQ weights of 4 bits are read');
  const version = section.text('version', 'gemm').toLowerCase();
  if (version !== 'gemm') section.refuse('version', 'the layout of version gemm is read');
  return { method: 'awq', groupSize: groupSize(section) };
}

function groupSize(section: Settings): number {
  const size = section.whole('group_size', largestGroup, 128, -1);
  return size === 0 ? section.fail('group_size', 'a whole number from 1, or -1') : size;
}

function f8(section: Settings): F8Settings {
  const block = section.wholes('weight_block_size', largestGroup);
  if (!block) return { method: 'f8' };
  const [rows, columns] = block;
  if (block.length !== 2) section.fail('weight_block_size', 'two whole numbers');
  return { method: 'f8', block: [rows!, columns!] };
}
