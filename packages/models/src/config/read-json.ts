import { readRegularFile } from '@quern/quant';
import { ModelError } from '../error.js';

const maxBytes = 4_000_000; // usual: a few kilobytes

/** The object in a JSON file. @throws ModelError NOT_FOUND or BAD_CONFIG. */
export async function readJsonObject(path: string): Promise<Readonly<Record<string, unknown>>> {
  const value = await readJson(path);
  if (isObject(value)) return value;
  throw new ModelError('BAD_CONFIG', `${path}: must hold a JSON object`);
}

/** The list of objects in a JSON file. @throws ModelError NOT_FOUND or BAD_CONFIG. */
export async function readJsonList(path: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const value = await readJson(path);
  if (Array.isArray(value) && value.every(isObject)) return value;
  throw new ModelError('BAD_CONFIG', `${path}: must hold a list of JSON objects`);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

async function readJson(path: string): Promise<unknown> {
  const text = await readRegularFile(path, maxBytes).catch((cause: unknown) => {
    throw new ModelError('BAD_CONFIG', cause instanceof Error ? cause.message : String(cause), { cause });
  });
  if (text === undefined) throw new ModelError('NOT_FOUND', `${path}: there is no such file`);
  return parse(path, text);
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = (error as Error).message.slice(0, 200);
    throw new ModelError('BAD_CONFIG', `${path}: is not JSON: ${reason}`, { cause: error });
  }
}
