import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { demoModelPath, demoPrompt } from '../src/index.js';

interface Expected {
  sha256: string;
  bytes: number;
  prompt: string;
  promptIds: number[];
  greedyIds: number[];
  text: string;
  minGap: number;
  logitsLast: number[];
}

const VOCABULARY = 2048;
const file = readFileSync(demoModelPath);
const expected: Expected = JSON.parse(
  readFileSync(new URL('../model/expected.json', import.meta.url), 'utf8'),
);

test('the path is absolute; the file is GGUF version 3', () => {
  expect(isAbsolute(demoModelPath)).toBe(true);
  expect(file.subarray(0, 4).toString('latin1')).toBe('GGUF');
  expect(file.readUInt32LE(4)).toBe(3);
});

test('the model is small enough to ship', () => {
  expect(file.length).toBeLessThan(4_000_000);
});

test('expected.json was made from this file', () => {
  expect(file.length).toBe(expected.bytes);
  expect(createHash('sha256').update(file).digest('hex')).toBe(expected.sha256);
});

test('rounding cannot change the expected continuation', () => {
  expect(expected.minGap).toBeGreaterThan(1e-3);
  expect(expected.greedyIds.length).toBeGreaterThanOrEqual(60);
  expect(expected.logitsLast).toHaveLength(8);
  for (const id of [...expected.promptIds, ...expected.greedyIds]) {
    expect(Number.isInteger(id) && id >= 0 && id < VOCABULARY).toBe(true);
  }
});

test('the expected continuation reads as prose', () => {
  expect(expected.text).toMatch(/^[A-Za-z0-9 ,.;:!?"'\n-]+$/);
  expect(expected.text.split(' ').length).toBeGreaterThan(40);
  expect(demoPrompt.length).toBeGreaterThan(0);
});
