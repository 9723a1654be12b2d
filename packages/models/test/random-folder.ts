import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { normal } from '@quern/core/testing';
import { openModelFile, toGguf } from '@quern/models';
import { quantizeSource } from '@quern/quant';
import { scratch } from './model-files.js';

/** A tensor's values and shape, by Hugging Face name. */
export type Parameters = ReadonlyMap<
  string,
  { readonly shape: readonly number[]; readonly values: Float32Array<ArrayBuffer> }
>;

export type Shapes = Readonly<Record<string, readonly number[]>>;

/** Replaces `{i}` in names of layer tensors by each layer's number. */
export const withLayers = (model: Shapes, layer: Shapes, layers: number): Shapes => ({
  ...model,
  ...Object.fromEntries(
    Array.from({ length: layers }, (_, i) =>
      Object.entries(layer).map(([name, shape]) => [name.replace('{i}', String(i)), shape]),
    ).flat(),
  ),
});

/** Random values for tensors of given shapes. */
export const randomParameters = (shapes: Shapes, deviation = 0.5): Parameters =>
  new Map(
    Object.entries(shapes).map(([name, shape], seed) => [
      name,
      { shape, values: Float32Array.from(normal(seed + 1, shape, deviation).values) },
    ]),
  );

/** Writes tensors of f32. */
export function writeSafetensors(path: string, parameters: Parameters): void {
  let end = 0;
  const header = [...parameters].map(([tensor, { shape, values }]) => {
    const begin = end;
    end += values.byteLength;
    return [tensor, { dtype: 'F32', shape, data_offsets: [begin, end] }];
  });
  const json = Buffer.from(JSON.stringify(Object.fromEntries(header)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const data = [...parameters.values()].map(({ values }) => new Uint8Array(values.buffer));
  writeFileSync(path, Buffer.concat([length, json, ...data]));
}

/** Writes a folder in Hugging Face transformers' layout; returns its path. */
export function writeFolder(name: string, config: object, parameters: Parameters): string {
  const folder = scratch(name);
  mkdirSync(folder, { recursive: true });
  writeSafetensors(join(folder, 'model.safetensors'), parameters);
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  return folder;
}

/** Converts a folder to a GGUF file with matrices in `mix`; returns the file's path. */
export async function convertFolder(folder: string, mix: 'f32' | 'bf16' = 'f32'): Promise<string> {
  const file = await openModelFile(folder);
  if (file.kind !== 'huggingFace') throw new Error(`${folder} opened as GGUF`);
  const path = `${folder}${mix === 'f32' ? '' : `-${mix}`}.gguf`;
  await quantizeSource(await toGguf(file), path, { mix });
  return path;
}
