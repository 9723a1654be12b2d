import { FileError } from '../error.js';
import type { GgufFile } from './gguf-file.js';
import { quote } from './read-metadata.js';

const partName = /-(\d{5})-of-(\d{5})\.gguf$/;

/**
 * The whole model of a part `opened`; `opened` itself if it is not split. A part names itself in `split.no`,
 * `split.count` and `split.tensors.count` (llama.cpp's gguf-split). Parts are in one folder, with numbered names.
 * @throws FileError BAD_SPLIT if the parts contradict each other; NOT_FOUND if a part is missing.
 */
export async function joinSplit(
  opened: GgufFile,
  openPart: (path: string) => Promise<GgufFile>,
): Promise<GgufFile> {
  const count = splitNumber(opened, 'split.count') ?? 1;
  if (count <= 1) return opened;
  const path = opened.paths[0]!;
  const parts: GgufFile[] = [];
  for (const [i, partPath] of partPaths(path, count).entries()) {
    const part = partPath === path ? opened : await openPart(partPath);
    checkPart(part, i, count);
    parts.push(part);
  }
  return join(parts);
}

function partPaths(path: string, count: number): string[] {
  const match = partName.exec(path);
  if (!match || Number(match[2]) !== count) {
    const expected = `-00001-of-${pad(count)}.gguf`;
    throw new FileError(
      'BAD_SPLIT',
      path,
      `is one of ${count} parts, so its name should end like ${expected}; rename the parts`,
    );
  }
  const stem = path.slice(0, match.index);
  return Array.from({ length: count }, (_, i) => `${stem}-${pad(i + 1)}-of-${pad(count)}.gguf`);
}

function pad(part: number): string {
  return String(part).padStart(5, '0');
}

function checkPart(part: GgufFile, index: number, count: number): void {
  const number = splitNumber(part, 'split.no');
  const ofCount = splitNumber(part, 'split.count');
  if (number === index && ofCount === count) return;
  const expected = `is named as part ${index + 1} of ${count}, but says it is part ${(number ?? Number.NaN) + 1} of ${ofCount}`;
  throw new FileError('BAD_SPLIT', part.paths[0]!, expected);
}

function splitNumber(part: GgufFile, key: string): number | undefined {
  const value = part.metadata.get(key);
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw new FileError('BAD_SPLIT', part.paths[0]!, `${key} must be a whole number`);
}

function join(parts: readonly GgufFile[]): GgufFile {
  const first = parts[0]!;
  const tensors = parts.flatMap((part) => part.tensors);
  const expected = splitNumber(first, 'split.tensors.count') ?? tensors.length;
  if (tensors.length !== expected) {
    const held = `split.tensors.count is ${expected}, but its ${parts.length} parts hold ${tensors.length} tensors`;
    throw new FileError('BAD_SPLIT', first.paths[0]!, held);
  }
  const seen = new Set<string>();
  for (const { name, path } of tensors) {
    if (seen.has(name))
      throw new FileError('BAD_SPLIT', path, `repeats the tensor ${quote(name)} of an earlier part`);
    seen.add(name);
  }
  return { ...first, tensors, paths: parts.map((part) => part.paths[0]!) };
}
