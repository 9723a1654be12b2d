import type { Quantised } from './file-tensor.js';
// Names and shapes of the parts of a quantised matrix X.weight in Hugging Face folders.

import { showShape } from '@quern/core';
import { isF8Format } from '@quern/quant';
import type { AwqSettings, GptqSettings, Quantisation } from '../config/quantisation.js';
import { ModelError } from '../error.js';
import type { FileTensor } from './file-tensor.js';

type Tensors = ReadonlyMap<string, FileTensor>;

/** The tensors of a folder, with quantised matrices under the name `X.weight`. `path` is for messages. */
export function withQuantised(tensors: Tensors, path: string, quantisation?: Quantisation): Tensors {
  const parts = new Parts(tensors, path);
  const all = new Map(tensors);
  for (const tensor of tensors.values()) {
    const made = quantisedMatrix(tensor, parts, quantisation);
    if (made) all.set(made.name, made);
  }
  return all;
}

/** A quantised tensor's other tensors: scales, zero points, group index. */
export function otherTensors(quantised: Quantised): readonly FileTensor[] {
  const others =
    quantised.kind === 'f8' ? [quantised.scale] : [quantised.qzeros, quantised.scales, quantised.groupIndex];
  return others.filter((part) => part !== undefined);
}

/** Replaces each of these tensors by `change(tensor)`. */
export function mapOthers(quantised: Quantised, change: (tensor: FileTensor) => FileTensor): Quantised {
  if (quantised.kind === 'f8')
    return { ...quantised, ...(quantised.scale && { scale: change(quantised.scale) }) };
  const { qzeros, scales, groupIndex } = quantised;
  return {
    ...quantised,
    qzeros: change(qzeros),
    scales: change(scales),
    ...(groupIndex && { groupIndex: change(groupIndex) }),
  };
}

function quantisedMatrix(
  tensor: FileTensor,
  parts: Parts,
  quantisation: Quantisation | undefined,
): FileTensor | undefined {
  if (isF8Format(tensor.format)) return f8Tensor(tensor, parts, quantisation);
  if (!tensor.name.endsWith('.qweight')) return undefined;
  if (quantisation?.method === 'gptq') return gptqMatrix(tensor, parts, quantisation);
  if (quantisation?.method === 'awq') return awqMatrix(tensor, parts, quantisation);
  return undefined;
}

const stemOf = ({ name }: FileTensor) => name.slice(0, name.lastIndexOf('.'));

function gptqMatrix(qweight: FileTensor, parts: Parts, settings: GptqSettings): FileTensor {
  const { bits, groupSize, version } = settings;
  const perWord = 32 / bits;
  const [words, N] = parts.matrix(qweight);
  const K = words * perWord;
  const stem = stemOf(qweight);
  const groupIndex = parts.find(`${stem}.g_idx`);
  return {
    name: `${stem}.weight`,
    shape: [N, K],
    format: `gptq${bits}`,
    bytes: qweight.bytes,
    quantised: {
      kind: 'gptq',
      bits,
      groupSize,
      version,
      ...parts.zerosAndScales(stem, N, K, bits, groupSize),
      ...(groupIndex && { groupIndex: parts.checked(groupIndex, [K], ['i32']) }),
    },
  };
}

function awqMatrix(qweight: FileTensor, parts: Parts, { groupSize }: AwqSettings): FileTensor {
  const [K, words] = parts.matrix(qweight);
  const N = words * 8;
  const stem = stemOf(qweight);
  if (K % 8 !== 0) parts.fail('BAD_WEIGHT_SHAPE', qweight, `has ${K} rows; it must be a multiple of 8`);
  return {
    name: `${stem}.weight`,
    shape: [N, K],
    format: 'awq4',
    bytes: qweight.bytes,
    quantised: {
      kind: 'awq',
      bits: 4,
      groupSize,
      version: 2,
      ...parts.zerosAndScales(stem, N, K, 4, groupSize),
    },
  };
}

/** Names of the scale: weight_scale_inv (block scales) or weight_scale; both multiply. */
function f8Tensor(tensor: FileTensor, parts: Parts, quantisation: Quantisation | undefined): FileTensor {
  const [N = 1, K = 1] = tensor.shape;
  const scale = parts.find(`${tensor.name}_scale_inv`) ?? parts.find(`${tensor.name}_scale`);
  const whole = { kind: 'f8', blockRows: N, blockColumns: K } as const;
  if (!scale && quantisation?.method === 'f8' && tensor.shape.length === 2)
    throw parts.missing(`${tensor.name}_scale`, [1]);
  if (!scale) return { ...tensor, quantised: whole };
  if (tensor.shape.length !== 2) parts.fail('BAD_WEIGHT_SHAPE', tensor, 'has a scale but is not a matrix');
  parts.checked(scale, scale.shape, floats);
  if (scale.shape.every((size) => size === 1)) return { ...tensor, quantised: { ...whole, scale } };
  if (scale.shape[0] === N && scale.shape.slice(1).every((size) => size === 1))
    return { ...tensor, quantised: { ...whole, scale, blockRows: 1 } };
  const block = quantisation?.method === 'f8' ? quantisation.block : undefined;
  if (!block)
    return parts.fail(
      'BAD_WEIGHT_SHAPE',
      scale,
      `is neither one number nor one for each of ${N} rows, and config.json has no weight_block_size`,
    );
  const [blockRows, blockColumns] = block;
  parts.checked(scale, [Math.ceil(N / blockRows), Math.ceil(K / blockColumns)], floats);
  return { ...tensor, quantised: { kind: 'f8', scale, blockRows, blockColumns } };
}

const floats = ['f32', 'f16', 'bf16'] as const;

/** Finds and checks the parts of a matrix. */
class Parts {
  constructor(
    private readonly tensors: Tensors,
    private readonly path: string,
  ) {}

  find(name: string): FileTensor | undefined {
    return this.tensors.get(name);
  }

  /** The shape of a matrix of 32-bit words. */
  matrix(tensor: FileTensor): readonly [number, number] {
    const [rows, columns] = tensor.shape;
    if (tensor.shape.length !== 2 || !rows || !columns)
      return this.fail(
        'BAD_WEIGHT_SHAPE',
        tensor,
        `has shape ${showShape(tensor.shape)}; it must be a matrix`,
      );
    this.checked(tensor, tensor.shape, ['i32']);
    return [rows, columns];
  }

  zerosAndScales(stem: string, N: number, K: number, bits: number, groupSize: number) {
    const groups = groupSize === -1 ? 1 : Math.ceil(K / groupSize);
    return {
      qzeros: this.needed(`${stem}.qzeros`, [groups, (N * bits) / 32], ['i32']),
      scales: this.needed(`${stem}.scales`, [groups, N], floats),
    };
  }

  needed(name: string, shape: readonly number[], formats: readonly string[]): FileTensor {
    const tensor = this.find(name);
    if (tensor) return this.checked(tensor, shape, formats);
    throw this.missing(name, shape);
  }

  missing(name: string, shape: readonly number[]): ModelError {
    return new ModelError(
      'MISSING_WEIGHT',
      `${this.path}: tensor '${name}' ${showShape(shape)} is missing, a part of a quantised matrix`,
    );
  }

  checked(tensor: FileTensor, shape: readonly number[], formats: readonly string[]): FileTensor {
    if (!formats.includes(tensor.format))
      this.fail('UNKNOWN_FORMAT', tensor, `is ${tensor.format}; it must be ${formats.join(' or ')}`);
    if (tensor.shape.length !== shape.length || tensor.shape.some((size, i) => size !== shape[i]))
      this.fail(
        'BAD_WEIGHT_SHAPE',
        tensor,
        `must have shape ${showShape(shape)} by quantization_config; it has ${showShape(tensor.shape)}`,
      );
    return tensor;
  }

  fail(code: 'UNKNOWN_FORMAT' | 'BAD_WEIGHT_SHAPE', tensor: FileTensor, detail: string): never {
    throw new ModelError(code, `${tensor.bytes.path}: tensor '${tensor.name}' ${detail}`);
  }
}
