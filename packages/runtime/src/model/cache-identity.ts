import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { FileSlice, KvCache } from '@quern/core';
import type { FileTensor, ModelFile, PartPlace } from '@quern/models';

/** Samples of a tensor, evenly spread, and bytes of each. */
const [samples, sampleBytes] = [4, 64];

/**
 * What cached keys and values depend on besides tokens and adapters, as 64 hexadecimal digits: the weights, the
 * configuration, the backends with their precision, and the form of the cache.
 *
 * The weights are not read whole: that takes as long as loading. Of every tensor, its name, shape, format, size and 4 · 64 bytes
 * count. Training, merging and quantising change tensors all over, so another model differs in these bytes. Only a
 * change of single numbers by hand may go unseen. The file's name and time do not count: a copy is the same model.
 */
export async function cacheIdentity(
  { architecture, config, weights }: ModelFile,
  places: readonly PartPlace[],
  { options, blockSize }: KvCache,
): Promise<string> {
  const { context, ...form } = options;
  const isShort = config.shortRope && context <= config.shortRope.context;
  const parts = places.map(({ backend, from, to }) => [backend.name, backend.profile.precision, from, to]);
  const hash = createHash('sha256');
  hash.update(JSON.stringify([architecture.name, config, isShort, parts, form, blockSize], exact));
  const files = new Map<string, FileHandle>();
  try {
    for (const tensor of weights.tensors.values()) {
      hash.update(
        JSON.stringify([tensor.name, tensor.shape, tensor.format, tensor.bytes.byteLength, tensor.plus]),
      );
      for (const slice of slicesOf(tensor)) hash.update(await sampleOf(slice, files));
    }
  } finally {
    for (const file of files.values()) await file.close();
  }
  return hash.digest('hex');
}

/** JSON has no infinity. */
const exact = (_: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;

/** The tensor's bytes, and the scales of quantised integers. */
const slicesOf = ({ bytes, quantised }: FileTensor): readonly FileSlice[] => {
  const scales = quantised?.kind === 'f8' ? quantised.scale : quantised?.scales;
  return scales ? [bytes, scales.bytes] : [bytes];
};

async function sampleOf(
  { path, offset, byteLength }: FileSlice,
  files: Map<string, FileHandle>,
): Promise<Uint8Array> {
  const file = files.get(path) ?? (await open(path));
  files.set(path, file);
  const length = Math.min(sampleBytes, byteLength);
  const found = new Uint8Array(samples * length);
  for (let i = 0; i < samples; i++) {
    const at = offset + Math.floor(((byteLength - length) * i) / (samples - 1));
    await file.read(found, i * length, length, at);
  }
  return found;
}
