import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { QuernError } from '@quern/core';
import { writeGguf } from '../src/index.js';
import { OutputFile } from '../src/output-file.js';
import { scratch } from './scratch.js';

const input = { metadata: { 'general.name': 'a' }, tensors: [] };

const written = async (): Promise<Buffer> => {
  const path = scratch('plain.gguf');
  await writeGguf(path, input);
  return readFileSync(path);
};

const outcome = (path: string) =>
  writeGguf(path, input).then(
    () => 'written',
    (error: unknown) => (error instanceof QuernError ? error.code : String(error)),
  );

test('a device is written directly and stays a device', async () => {
  expect(await outcome('/dev/null')).toBe('written');
  expect(await outcome('/dev/full')).toBe('WRITE_FAILED');
  for (const path of ['/dev/null', '/dev/full']) {
    expect(statSync(path).isCharacterDevice()).toBe(true);
    expect(existsSync(`${path}.partial`)).toBe(false);
  }
});

test('a FIFO is written directly and stays a FIFO', async () => {
  const fifo = scratch('fifo');
  execFileSync('mkfifo', [fifo]);
  const [bytes] = await Promise.all([readFile(fifo), writeGguf(fifo, input)]);
  expect(bytes.equals(await written())).toBe(true);
  expect(statSync(fifo).isFIFO()).toBe(true);
});

test('pieces of any length around the blocks of a write arrive in order', async () => {
  const block = 2 << 20;
  const bytes = Uint8Array.from({ length: 7 * block + 5 }, (_, i) => (i * 2654435761) >>> 24);
  const lengths = [1, block, 0, block - 1, 2 * block + 3, 32, 2 * block, 1000];
  const path = scratch('pieces');
  const output = await OutputFile.create(path);
  let at = 0;
  for (const length of [...lengths, bytes.length]) {
    const piece = bytes.slice(at, at + length);
    at += piece.length;
    await output.write(piece);
    piece.fill(0); // the writer may use its memory again
  }
  await output.finish();
  expect(readFileSync(path).equals(bytes)).toBe(true);
});

test('a symbolic link stays a link, and its target is replaced', async () => {
  const [target, link] = [scratch('target.gguf'), scratch('link.gguf')];
  writeFileSync(target, 'old');
  symlinkSync(target, link);
  await writeGguf(link, input);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(target).equals(await written())).toBe(true);
});

test('a broken link and a folder are refused and stay unchanged', async () => {
  const [nowhere, folder] = [scratch('nowhere'), scratch('folder')];
  symlinkSync(scratch('missing'), nowhere);
  mkdirSync(folder);
  expect(await outcome(nowhere)).toBe('NOT_A_FILE');
  expect(lstatSync(nowhere).isSymbolicLink()).toBe(true);
  expect(await outcome(folder)).toBe('NOT_A_FILE');
});

/** The message of a refusal, without the path. */
const refusal = (path: string) =>
  writeGguf(path, input).then(
    () => 'written',
    (error: Error) => error.message.replace(`${path}: `, ''),
  );

test('a refusal of the system says what to do', async () => {
  expect(await refusal('/dev/full')).toBe(
    'cannot be written: no space left on device (ENOSPC): free space, or choose another folder',
  );
  expect(await refusal(scratch('n'.repeat(300)))).toBe(
    'cannot be written: name too long (ENAMETOOLONG): choose a shorter name',
  );
  expect(await refusal(scratch('none/model.gguf'))).toBe(
    'cannot be written: no such file or directory (ENOENT): make its folder first',
  );
});
