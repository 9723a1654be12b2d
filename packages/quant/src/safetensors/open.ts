import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FileError } from '../error.js';
import { InputFile } from '../input-file.js';
import { openIndex } from './open-index.js';
import { maxHeaderBytes, parseHeader } from './parse.js';
import type { SafetensorsFile } from './safetensors-file.js';

/**
 * Opens a safetensors model: a file, an index of shards (`model.safetensors.index.json`), or a folder with one of
 * these. Reads headers, never tensor data.
 * @throws FileError NOT_FOUND, NOT_A_FILE, READ_FAILED, NOT_SAFETENSORS, TRUNCATED, TOO_LARGE, BAD_HEADER, BAD_TENSOR,
 * UNKNOWN_FORMAT or BAD_SPLIT.
 */
export async function openSafetensors(path: string): Promise<SafetensorsFile> {
  const file = (await isDirectory(path)) ? await modelIn(path) : path;
  return file.endsWith('.json') ? openIndex(file, openShard) : openShard(file);
}

async function modelIn(folder: string): Promise<string> {
  const names = ['model.safetensors', 'model.safetensors.index.json'];
  for (const name of names) if (await exists(join(folder, name))) return join(folder, name);
  throw new FileError('NOT_FOUND', folder, `holds no ${names.join(' and no ')}`);
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

async function openShard(path: string): Promise<SafetensorsFile> {
  const file = await InputFile.open(path);
  try {
    return parseHeader(await readHeader(file), file.size, path);
  } finally {
    await file.close();
  }
}

async function readHeader(file: InputFile): Promise<Uint8Array> {
  const { path, size } = file;
  if (size < 8)
    throw new FileError('NOT_SAFETENSORS', path, `is not a safetensors file: it has ${size} bytes`);
  const prefix = new Uint8Array(8);
  await file.read(0, prefix);
  const length = Number(new DataView(prefix.buffer).getBigUint64(0, true));
  if (length > maxHeaderBytes) {
    throw new FileError(
      'NOT_SAFETENSORS',
      path,
      `is not a safetensors file: its header would take ${length} bytes`,
    );
  }
  if (8 + length > size) {
    throw new FileError(
      'TRUNCATED',
      path,
      `its header takes ${length} bytes, but the file has ${size}: fetch it again`,
    );
  }
  const header = new Uint8Array(length);
  await file.read(8, header);
  return header;
}
