// The demo model with its weights in any format, as files.
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demoModelPath } from '@quern/demo-model';
import { decode, encodeAll, formats, openGguf, writeGguf } from '@quern/quant';
import { widened } from './widened.mjs';

/** Blocks of more than 32 elements do not divide rows of 192: such formats need the widened demo model. */
const needsWide = (format) => formats[format].blockSize > 32;

/**
 * Writes the demo model with its matrices in `format` (`encoded`), and those same weights as F32 (`decoded`), into a new
 * folder.
 */
export async function writeDemoFiles(format, wide = needsWide(format)) {
  const folder = mkdtempSync(join(tmpdir(), 'quern-accuracy-'));
  const [encoded, decoded] = [join(folder, 'encoded.gguf'), join(folder, 'decoded.gguf')];
  const demo = await readFloats(demoModelPath);
  await write(encoded, wide ? widened(demo) : demo, format);
  await write(decoded, await readFloats(encoded), 'f32');
  return { folder, encoded, decoded };
}

const write = (path, { metadata, tensors }, format) =>
  writeGguf(path, {
    metadata,
    tensors: tensors.map(({ name, shape, values }) => {
      const stored = shape.length === 1 ? 'f32' : format;
      return { name, shape, format: stored, data: encodeAll(stored, values) };
    }),
  });

/** A model's metadata with their types, and its tensors decoded to floats. */
async function readFloats(path) {
  const file = await openGguf(path);
  const bytes = readFileSync(path);
  const metadata = [...file.metadata].map(([key, value]) => [
    key,
    { type: file.metadataTypes.get(key), value },
  ]);
  const tensors = file.tensors.map(({ name, shape, format, offset, byteLength }) => {
    const values = new Float32Array(shape.reduce((n, size) => n * size, 1));
    decode(format, bytes.subarray(offset, offset + byteLength), 0, values, 0, values.length);
    return { name, shape, values };
  });
  return { metadata: Object.fromEntries(metadata), tensors };
}
