// Threads that run jobs: their results, and that no thread stays.
import { readdirSync, writeFileSync } from 'node:fs';
import { random } from '@quern/core/testing';
import { byteLength, DecodePool, decode, formats, iq8, toIq8 } from '../src/index.js';
import { WorkerPool } from '../src/threads/worker-pool.js';
import { scratch } from './scratch.js';

const aborted = (cause: unknown) => new Error('aborted', { cause });
const lost = (how: string) => new Error(`a thread ${how}`);

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'nothing thrown',
    ({ code, path, message }) => ({ code, path, message }),
  );

/** Blocks of a format in a file. The bytes never form an infinite f16. */
function writeBlocks(name: string, format: 'tq2_0' | 'iq2_s', elements: number) {
  const next = random(7);
  const blocks = Uint8Array.from(
    { length: byteLength(format, [elements]) },
    () => Math.floor(256 * next()) & 0xbf,
  );
  const path = scratch(name);
  writeFileSync(path, Buffer.concat([Buffer.alloc(3), blocks])); // tensors may begin at any byte
  return { blocks, source: { path, offset: 3, byteLength: blocks.length } };
}

describe('DecodePool', () => {
  const pool = new DecodePool({ threads: 2, aborted, lost });
  afterAll(() => pool.dispose());

  test.each(['tq2_0', 'iq2_s'] as const)('%s: the same floats and iq8 as on this thread', async (format) => {
    const elements = 64 * 256;
    const { blocks, source } = writeBlocks(`${format}.bin`, format, elements);
    const expected = new Float32Array(elements);
    decode(format, blocks, 0, expected, 0, elements);
    const values = new Float32Array(elements);
    const into = new Uint8Array(values.buffer);
    const { blockBytes } = formats[format];
    const pieces = Array.from({ length: 64 }, (_, i) =>
      pool.decode(
        {
          recipe: { kind: 'f32', format },
          source: { ...source, offset: 3 + i * blockBytes, byteLength: blockBytes },
          byteLength: 1024,
        },
        into.subarray(i * 1024, (i + 1) * 1024),
      ),
    );
    expect(await Promise.all(pieces)).toEqual(pieces.map(() => true));
    expect(values).toEqual(expected);
    const byteLength = 64 * iq8.blockBytes;
    const [rewritten, expectedBlocks] = [new Uint8Array(byteLength), new Uint8Array(byteLength)];
    toIq8(format, blocks, expectedBlocks);
    expect(await pool.decode({ recipe: { kind: 'iq8', format }, source, byteLength }, rewritten)).toBe(true);
    expect(rewritten).toEqual(expectedBlocks);
  });

  test('false if a block has no iq8 form', async () => {
    const path = scratch('infinite.bin');
    const blocks = new Uint8Array(formats.tq2_0.blockBytes);
    blocks[65] = 0x7c; // the scale is infinite
    writeFileSync(path, blocks);
    const job = {
      recipe: { kind: 'iq8', format: 'tq2_0' },
      source: { path, offset: 0, byteLength: blocks.length },
      byteLength: iq8.blockBytes,
    } as const;
    expect(await pool.decode(job, new Uint8Array(iq8.blockBytes))).toBe(false);
  });

  test('errors keep their codes, and the threads go on', async () => {
    const { source } = writeBlocks('short.bin', 'tq2_0', 256);
    const recipe = { kind: 'f32', format: 'tq2_0' } as const;
    const into = new Uint8Array(4096);
    const run = (changes: Partial<typeof source>, byteLength: number) =>
      codeOf(
        pool.decode({ recipe, source: { ...source, ...changes }, byteLength }, into.subarray(0, byteLength)),
      );
    expect(await run({ byteLength: 2 * source.byteLength }, 2048)).toEqual({
      code: 'TRUNCATED',
      path: source.path,
      message: expect.stringMatching(/short\.bin: ends at byte 69: it has shrunk/),
    });
    expect(await run({ path: scratch('nowhere') }, 1024)).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching(/nowhere: there is no such file/),
    });
    expect(await run({}, 1028)).toMatchObject({ code: 'BAD_LENGTH', path: undefined });
    expect(await run({}, 1024)).toBe('nothing thrown');
  });

  test('a broken GPTQ matrix', async () => {
    const [N, K] = [8, 8];
    const path = scratch('gptq.bin');
    writeFileSync(path, Buffer.alloc(100, 1));
    const part = (byteLength: number) => ({ path, offset: 0, byteLength });
    const matrix = {
      kind: 'gptq',
      name: 'x',
      shape: [N, K],
      bits: 4,
      groupSize: -1,
      version: 1,
      qweight: part(32),
      qzeros: part(4),
      scales: part(16),
      groupIndex: part(32),
    } as const;
    const bytes = new Uint8Array(4 * N * K);
    const job = { matrix, first: 0, rows: N, byteLength: bytes.length };
    expect(await codeOf(pool.decode(job, bytes))).toMatchObject({ code: 'BAD_WEIGHT' });
  });
});

const script = (source: string) => new URL(`data:text/javascript,${encodeURIComponent(source)}`);
const port = "import { parentPort } from 'node:worker_threads';";

test('a thread that exits or throws an unexpected error is lost', async () => {
  for (const [source, message] of [
    [`${port} parentPort.on('message', () => process.exit(3));`, 'a thread ended by itself (exit 3)'],
    [`${port} parentPort.on('message', () => { throw new Error('ouch'); });`, 'a thread failed: ouch'],
    ['import "nowhere";', /a thread failed: .*nowhere/],
    [
      `${port} parentPort.on('message', () => parentPort.postMessage({ failure: { name: 'TypeError', message: 'x' } }));`,
      'a thread failed: x',
    ],
  ] as const) {
    const pool = new WorkerPool<object, void>(script(source), { threads: 1, aborted, lost });
    await expect(pool.run({}, () => undefined)).rejects.toThrow(message);
    await pool.dispose();
  }
});

test('an error of take rejects its call, and the threads go on', async () => {
  const echo = script(`${port} parentPort.on('message', (job) => parentPort.postMessage({ result: job }));`);
  const pool = new WorkerPool<number, number>(echo, { threads: 1, aborted, lost });
  const broken = pool.run(1, () => {
    throw new RangeError('too small');
  });
  const next = pool.run(2, (result) => 2 * result);
  await expect(broken).rejects.toThrow('too small');
  expect(await next).toBe(4);
  await pool.dispose();
});

const threadsNow = () => readdirSync('/proc/self/task').length;
const countable = process.platform === 'linux' ? test : test.skip;

countable.each(['abort', 'dispose'] as const)('%s ends threads in the middle of a job', async (how) => {
  const before = threadsNow();
  const controller = new AbortController();
  const endless = script(`${port} parentPort.on('message', () => { for (;;); });`);
  const pool = new WorkerPool<object, void>(endless, {
    threads: 2,
    signal: controller.signal,
    aborted,
    lost,
  });
  const jobs = Array.from({ length: 5 }, () => pool.run({}, () => undefined));
  const outcomes = Promise.allSettled(jobs);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(threadsNow()).toBeGreaterThan(before);
  if (how === 'abort') controller.abort('enough');
  await pool.dispose();
  const reason = how === 'abort' ? 'enough' : 'the threads were disposed of';
  expect(await outcomes).toEqual(
    jobs.map(() => ({ status: 'rejected', reason: expect.objectContaining({ cause: reason }) })),
  );
  await expect(pool.run({}, () => undefined)).rejects.toMatchObject({ cause: reason });
  expect(threadsNow()).toBeLessThanOrEqual(before);
});

test('an aborted signal starts no threads', () => {
  const signal = AbortSignal.abort('early');
  expect(() => new DecodePool({ threads: 1, signal, aborted, lost })).toThrow(
    expect.objectContaining({ cause: 'early' }),
  );
});
