import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { normal } from '@quern/core/testing';
import {
  byteLength,
  decode,
  encodeAll,
  type MetadataInput,
  openGguf,
  type TensorInfo,
  type TensorInput,
  type WritableFormat,
  writeGguf,
} from '@quern/quant';

const folder = mkdtempSync(join(tmpdir(), 'quern-models-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A path in a folder that is deleted after the test file. */
export const scratch = (...parts: string[]) => join(folder, ...parts);

const bytesOf = ({ path, offset, byteLength }: TensorInfo) =>
  new Uint8Array(readFileSync(path).subarray(offset, offset + byteLength));

/** A tensor's values as f32 bytes. */
export function decodedBytes(tensor: TensorInfo): Uint8Array {
  const values = new Float32Array(tensor.shape.reduce((n, size) => n * size, 1));
  decode(tensor.format, bytesOf(tensor), 0, values, 0, values.length);
  return new Uint8Array(values.buffer);
}

/** Copies a GGUF file with changed tensors. */
export async function rewriteGguf(
  from: string,
  to: string,
  change: (tensor: TensorInfo) => TensorInput | Promise<TensorInput>,
): Promise<void> {
  const { metadata, tensors } = await openGguf(from);
  await writeGguf(to, { metadata, tensors: await Promise.all(tensors.map(change)) });
}

/** Sizes of the test models: D 32, H 4, Hk 2, d 8, F 64, V 16. */
export const llamaMetadata: Readonly<Record<string, MetadataInput>> = {
  'general.architecture': 'llama',
  'llama.block_count': 2,
  'llama.context_length': 64,
  'llama.embedding_length': 32,
  'llama.feed_forward_length': 64,
  'llama.attention.head_count': 4,
  'llama.attention.head_count_kv': 2,
  'llama.attention.layer_norm_rms_epsilon': 1e-5,
};

const layerShapes: Readonly<Record<string, readonly number[]>> = {
  'attn_norm.weight': [32],
  'attn_q.weight': [32, 32],
  'attn_k.weight': [16, 32],
  'attn_v.weight': [16, 32],
  'attn_output.weight': [32, 32],
  'ffn_norm.weight': [32],
  'ffn_gate.weight': [64, 32],
  'ffn_up.weight': [64, 32],
  'ffn_down.weight': [32, 64],
};

const modelShapes: Readonly<Record<string, readonly number[]>> = {
  'token_embd.weight': [16, 32],
  'output_norm.weight': [32],
  'output.weight': [16, 32],
};

/** A tensor of random numbers. */
export function randomTensor(
  name: string,
  shape: readonly number[],
  format: WritableFormat = 'f32',
): TensorInput {
  const seed = [...name].reduce((sum, char) => (31 * sum + char.charCodeAt(0)) % 65_521, 1);
  const values = Float32Array.from(normal(seed, shape, 0.3).values);
  return { name, shape, format, data: encodeAll(format, values) };
}

/** The tensors of a random Llama with two layers; matrices in `format`. */
export function llamaTensors(format: WritableFormat = 'f32'): TensorInput[] {
  const layers = [0, 1].flatMap((i) =>
    Object.entries(layerShapes).map(([name, shape]) => [`blk.${i}.${name}`, shape] as const),
  );
  return [...Object.entries(modelShapes), ...layers].map(([name, shape]) =>
    randomTensor(name, shape, shape.length === 1 ? 'f32' : format),
  );
}

export interface LlamaChanges {
  readonly metadata?: Readonly<Record<string, MetadataInput | undefined>>;
  readonly tensors?: readonly TensorInput[];
}

/** Writes a random Llama as GGUF; `metadata` adds or (undefined) removes entries. */
export async function writeLlama(
  name: string,
  { metadata, tensors = llamaTensors() }: LlamaChanges = {},
): Promise<string> {
  const entries = Object.entries({ ...llamaMetadata, ...metadata });
  const kept = entries.filter((entry): entry is [string, MetadataInput] => entry[1] !== undefined);
  await writeGguf(scratch(name), { metadata: Object.fromEntries(kept), tensors });
  return scratch(name);
}

/** Writes a safetensors file of zeros. */
export function writeZeros(
  path: string,
  shapes: Readonly<Record<string, readonly number[]>>,
  dtype: 'F32' | 'I8' = 'F32',
): void {
  let end = 0;
  const header = Object.entries(shapes).map(([name, shape]) => {
    const begin = end;
    end += dtype === 'F32' ? byteLength('f32', shape) : byteLength('f32', shape) / 4;
    return [name, { dtype, shape, data_offsets: [begin, end] }];
  });
  const json = Buffer.from(JSON.stringify(Object.fromEntries(header)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  writeFileSync(path, Buffer.concat([length, json, Buffer.alloc(end)]));
}
