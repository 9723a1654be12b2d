import { batchRows, sizeOf } from '../../src/engine/batch.js';

test.each([
  [64, 64],
  [512, 64],
  [1024, 128],
  [2048, 256],
  [8192, 256],
])('with chunks of %i tokens, %i sequences decode in a step', (prefillChunk, rows) => {
  expect(batchRows(prefillChunk)).toBe(rows);
});

test.each([
  [1, 1],
  [16, 16],
  [17, 24],
  [64, 64],
  [65, 96],
  [225, 256],
  [256, 256],
  [257, 257],
])('a step of %i rows computes %i', (rows, size) => {
  expect(sizeOf(rows)).toBe(size);
});
