import { copyFile, rm } from 'node:fs/promises';
import { type MetadataInput, openGguf, writeGguf } from '../src/index.js';
import { scratch } from './scratch.js';

const part = (stem: string, number: number, count = 3) =>
  scratch(`${stem}-0000${number}-of-0000${count}.gguf`);

interface Split {
  number?: number;
  count?: number;
  tensors?: number;
  names?: string[];
}

/** Writes part `number` (from 1) of a split model. `split` overrides its split metadata. */
async function writePart(stem: string, number: number, split: Split = {}) {
  const metadata: Record<string, MetadataInput> = {
    'split.no': { type: 'uint16', value: split.number ?? number - 1 },
    'split.count': { type: 'uint16', value: split.count ?? 3 },
    'split.tensors.count': { type: 'int32', value: split.tensors ?? 3 },
  };
  if (number === 1) metadata['general.architecture'] = 'llama';
  const names = split.names ?? [`t${number}`];
  const tensors = names.map((name) => ({
    name,
    shape: [2],
    format: 'f32' as const,
    data: new Uint8Array(8),
  }));
  await writeGguf(part(stem, number), { metadata, tensors });
}

async function writeModel(stem: string, overrides: Record<number, Split> = {}) {
  for (const number of [1, 2, 3]) await writePart(stem, number, overrides[number]);
}

test.each([1, 2, 3])('part %i opens the whole model', async (opened) => {
  await writeModel('whole');
  const file = await openGguf(part('whole', opened));
  expect(file.paths).toEqual([1, 2, 3].map((number) => part('whole', number)));
  expect(file.tensors.map(({ name, path }) => [name, path])).toEqual([
    ['t1', part('whole', 1)],
    ['t2', part('whole', 2)],
    ['t3', part('whole', 3)],
  ]);
  expect(file.metadata.get('general.architecture')).toBe('llama');
});

const contradictions: [string, Record<number, Split>, string][] = [
  ['a part with another number', { 2: { number: 0 } }, 'BAD_SPLIT'],
  ['a part of another count', { 2: { count: 4 } }, 'BAD_SPLIT'],
  ['a count that contradicts the name', { 1: { count: 65535 } }, 'BAD_SPLIT'],
  ['a part with a split count of 1', { 3: { count: 1 } }, 'BAD_SPLIT'],
  ['too few tensors', { 1: { tensors: 4 } }, 'BAD_SPLIT'],
  ['a tensor in two parts', { 3: { names: ['t1'] } }, 'BAD_SPLIT'],
];

test.each(contradictions)('%s', async (_, overrides, code) => {
  await writeModel('wrong', overrides);
  await expect(openGguf(part('wrong', 1))).rejects.toMatchObject({ name: 'FileError', code });
});

test('a missing part is named', async () => {
  await writeModel('missing');
  await rm(part('missing', 3));
  await expect(openGguf(part('missing', 1))).rejects.toMatchObject({
    code: 'NOT_FOUND',
    path: part('missing', 3),
  });
});

test('a copy of another part is refused', async () => {
  await writeModel('cycle');
  await copyFile(part('cycle', 1), part('cycle', 2));
  await expect(openGguf(part('cycle', 1))).rejects.toMatchObject({
    code: 'BAD_SPLIT',
    path: part('cycle', 2),
  });
});

test('a part with a wrong file name: the error gives the right name', async () => {
  await writeModel('renamed');
  await copyFile(part('renamed', 1), scratch('model.gguf'));
  await expect(openGguf(scratch('model.gguf'))).rejects.toThrow(/-00001-of-00003\.gguf/);
});

test('a split into one part is a plain file', async () => {
  await writePart('single', 1, { count: 1, tensors: 1 });
  expect((await openGguf(part('single', 1))).tensors.length).toBe(1);
});
