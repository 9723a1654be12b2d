import { checkArgument, rules } from '@quern/core';
import { FileError } from '../error.js';
import { openGguf } from '../gguf/open.js';
import { InputFile } from '../input-file.js';
import { badArgument, QuantizeError } from './error.js';
import type { ImportanceMatrix } from './importance.js';
import { parseLegacyImportance } from './legacy-importance.js';

const largest = 2 ** 31; // bytes; ten times the file of a model with 100 experts and 100 layers

/**
 * Reads an importance matrix: a GGUF file of llama.cpp's llama-imatrix, or its older .dat file.
 * @throws QuantizeError BAD_IMPORTANCE, BAD_ARGUMENT; FileError NOT_FOUND, READ_FAILED and all errors of `openGguf`.
 */
export async function readImportance(path: string): Promise<ImportanceMatrix> {
  checkArgument('readImportance', 'path', path, rules.path, badArgument);
  const file = await InputFile.open(path);
  try {
    if (file.size > largest)
      throw new QuantizeError('BAD_IMPORTANCE', `${path}: has ${file.size} bytes; the limit is ${largest}`);
    const magic = new Uint8Array(Math.min(4, file.size));
    await file.read(0, magic);
    const matrix =
      Buffer.from(magic).toString('latin1') === 'GGUF' ? await readGguf(file) : await readLegacy(file);
    for (const [name, values] of matrix.entries) checkValues(path, name, values);
    return matrix;
  } finally {
    await file.close();
  }
}

function checkValues(path: string, name: string, values: Float32Array): void {
  const wrong = values.find((value) => !(value >= 0 && value < Number.POSITIVE_INFINITY));
  if (wrong === undefined) return;
  throw new QuantizeError(
    'BAD_IMPORTANCE',
    `${path}: the importance of '${name}' holds ${wrong}; it must be finite and not below 0`,
  );
}

async function readLegacy(file: InputFile): Promise<ImportanceMatrix> {
  const bytes = new Uint8Array(file.size);
  await file.read(0, bytes);
  return parseLegacyImportance(bytes, file.path);
}

const sumSuffix = '.in_sum2';

/** Tensors `NAME.in_sum2` [experts, row length]: sums of squares. `NAME.counts` [experts, 1]: numbers of summands. */
async function readGguf(file: InputFile): Promise<ImportanceMatrix> {
  const { metadata, tensors } = await openGguf(file.path);
  if (metadata.get('general.type') !== 'imatrix')
    throw new QuantizeError(
      'BAD_IMPORTANCE',
      `${file.path}: is a GGUF file, but not of an importance matrix`,
    );
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const floats = async (name: string): Promise<Float32Array> => {
    const tensor = byName.get(name);
    if (tensor?.format !== 'f32' || tensor.path !== file.path)
      throw new QuantizeError('BAD_IMPORTANCE', `${file.path}: has no tensor '${name}' of f32`);
    const values = new Float32Array(tensor.byteLength / 4);
    await file.read(tensor.offset, new Uint8Array(values.buffer));
    return values;
  };
  const entries = new Map<string, Float32Array>();
  for (const { name } of tensors) {
    if (!name.endsWith(sumSuffix)) continue;
    const stem = name.slice(0, -sumSuffix.length);
    entries.set(stem, means(file.path, stem, await floats(name), await floats(`${stem}.counts`)));
  }
  const dataset = metadata.get('imatrix.datasets');
  const chunks = metadata.get('imatrix.chunk_count');
  return {
    path: file.path,
    entries,
    ...(Array.isArray(dataset) && dataset.length > 0 && { dataset: dataset.join(', ') }),
    ...(typeof chunks === 'number' && { chunks }),
  };
}

/** Sums / counts; 1 for experts with count 0. */
function means(path: string, name: string, sums: Float32Array, counts: Float32Array): Float32Array {
  if (counts.length === 0 || sums.length % counts.length !== 0)
    throw new FileError('BAD_TENSOR', path, `'${name}' has ${sums.length} sums and ${counts.length} counts`);
  const rowLength = sums.length / counts.length;
  return sums.map((sum, i) => {
    const count = counts[Math.floor(i / rowLength)]!;
    return count > 0 ? sum / count : 1;
  });
}
