// Output of `quern bench` for the demo model; no assertion on speed.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeFile, findBackend, loadModel, loadSpeechModel } from '@quern/runtime';
import { writeEncoderFolder } from '../../runtime/test/quantize/encoder-folder.mjs';
import { writeGgml } from '../../runtime/test/quantize/ggml-file.js';
import { checkOutput, relativeError } from '../src/bench/check.js';
import { checkSpeech } from '../src/bench/speech.js';
import { median, quantile } from '../src/bench/statistics.js';
import { contextOf, worksOf } from '../src/bench/works.js';
import { quern } from './cli.js';

/** Milliseconds for a test that measures; busy machines are slow. */
const patience = 60_000;

const folder = mkdtempSync(join(tmpdir(), 'quern-bench-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const small = ['bench', '--model', 'demo', '--prompt', '16,24', '--gen', '4', '--repeat', '2'];

test(
  'bench --json: every prompt and answer at every depth and batch, checked against scalar code',
  async () => {
    const args = [...small, '--depth', '0,32', '--batch', '1,2', '--threads', '1,2', '--json'];
    const { code, stdout, stderr } = await quern(args);
    expect([code, stderr]).toEqual([0, expect.stringContaining('decode 4 × 2 at depth 32')]);
    const { machines, runs } = JSON.parse(stdout);
    expect(machines.map(({ threads }: { threads: number }) => threads)).toEqual([1, 2]);
    expect(machines[0].ceilings.rates.f32).toBeGreaterThan(0);
    expect(runs).toHaveLength(2);
    for (const { check, isa, loadMs, residentBytes, works } of runs) {
      if (isa !== 'scalar') expect(check.against).toBe('cpu (scalar)');
      expect(check === null || check.relativeError < 0.1).toBe(true);
      expect(Math.min(loadMs, residentBytes)).toBeGreaterThan(0);
      expect(works).toHaveLength(2 * (2 + 2));
      for (const work of works) {
        expect(work.lowerQuartile).toBeGreaterThan(0);
        expect(work.tokensPerSecond).toBeGreaterThanOrEqual(work.lowerQuartile);
        expect(work.upperQuartile).toBeGreaterThanOrEqual(work.tokensPerSecond);
        expect(work.ceiling.share).toBeGreaterThan(0);
        expect(work.firstTokenMs === undefined).toBe(work.kind === 'decode');
      }
    }
  },
  patience,
);

test(
  'bench --precision: every precision is a run of its own, labelled in the chart',
  async () => {
    const svg = join(folder, 'precisions.svg');
    const args = [...small, '--no-check', '--threads', '1', '--precision', 'fast,exact'];
    const { stdout } = await quern([...args, '--svg', svg, '--json']);
    const { machines, runs } = JSON.parse(stdout);
    expect(machines).toHaveLength(1);
    expect(runs.map(({ precision }: { precision: string }) => precision)).toEqual(['fast', 'exact']);
    expect(readFileSync(svg, 'utf8')).toMatch(/demo, [\w-]+ × 1 fast, prefill 24/);
    const wrong = await quern([...small, '--precision', 'fast,best']);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('fast, standard, exact')]);
  },
  patience,
);

test(
  'bench prints a table and draws a chart',
  async () => {
    const svg = join(folder, 'chart.svg');
    const { code, stdout } = await quern([...small, '--no-check', '--svg', svg]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/reads \d.* GB\/s, .* 10⁹ operations\/s: .*f32 \d/);
    expect(stdout).toMatch(/output not checked/);
    for (const row of ['prefill 16 ', 'prefill 24 ', 'decode 4 '])
      expect(stdout).toMatch(new RegExp(`^demo +[\\w-]+ +\\d+ +standard +${row}.* % of `, 'm'));
    const chart = readFileSync(svg, 'utf8');
    expect(chart.match(/<rect /g)).toHaveLength(3);
    expect(chart).toContain('demo, prefill 24');
  },
  patience,
);

const fast = ['--repeat', '2', '--threads', '1', '--json'];

test(
  'bench --arch of an encoder: batches of texts, checked against scalar code',
  async () => {
    const args = ['bench', '--arch', 'tiny', '--prompt', '8,16', '--batch', '1,3', '--format', 'f32'];
    const { code, stdout, stderr } = await quern([...args, ...fast]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('embed 16 × 3')]);
    const [run] = JSON.parse(stdout).runs;
    expect(run.model).toBe('tiny f32');
    if (run.isa !== 'scalar') expect(run.check.relativeError).toBeLessThan(0.1);
    expect(run.works).toHaveLength(4);
    for (const { kind, tokensPerSecond, milliseconds, ceiling } of run.works) {
      expect(kind).toBe('embed');
      expect(Math.min(tokensPerSecond, milliseconds, ceiling.share)).toBeGreaterThan(0);
    }
  },
  patience,
);

test(
  'bench --arch of a speech model: an audio window and its tokens, checked against scalar code',
  async () => {
    const args = ['bench', '--arch', 'whisper-test', '--gen', '4,6', '--format', 'f32'];
    const { code, stdout, stderr } = await quern([...args, ...fast]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('write 6')]);
    const [run] = JSON.parse(stdout).runs;
    expect(run.works).toMatchObject([
      { kind: 'hear', tokens: 50 },
      { kind: 'write', tokens: 4 },
      { kind: 'write', tokens: 6 },
    ]);
    if (run.isa !== 'scalar') {
      expect(run.check.against).toBe('cpu (scalar)');
      expect(run.check.relativeError).toBeLessThan(0.1);
    }
    for (const { milliseconds, ceiling } of run.works)
      expect(Math.min(milliseconds, ceiling.share)).toBeGreaterThan(0);
  },
  patience,
);

test(
  'bench --model: encoders and speech models, every kind of file',
  async () => {
    const made = async (name: string, arch: string) => {
      const path = join(folder, name);
      await quern(['bench', '--arch', arch, '--format', 'f32', '--make', path]);
      return path;
    };
    const [encoder, speech] = [await made('encoder.gguf', 'tiny'), await made('speech.gguf', 'whisper-test')];
    const [encoderFolder, ggml] = [join(folder, 'encoder'), join(folder, 'ggml-test.bin')];
    mkdirSync(encoderFolder);
    writeEncoderFolder(encoderFolder, 'xlm-roberta');
    await writeGgml(ggml, speech);
    for (const [path, kinds] of [
      [encoder, ['embed']],
      [encoderFolder, ['embed']],
      [speech, ['hear', 'write']],
      [ggml, ['hear', 'write']],
    ] as const) {
      const { code, stdout, stderr } = await quern([
        ...['bench', '--model', path, '--prompt', '9', '--gen', '4'],
        ...fast,
      ]);
      expect([code, stderr]).toEqual([0, expect.stringContaining(path)]);
      const [run] = JSON.parse(stdout).runs;
      expect(run.works.map(({ kind }: { kind: string }) => kind)).toEqual(kinds);
      if (run.isa !== 'scalar') expect(run.check.relativeError).toBeLessThan(0.1);
      for (const { ceiling } of run.works) expect(ceiling.share).toBeGreaterThan(0);
    }
    for (const [args, message] of [
      [['--model', encoder, '--kv', 'f16'], /encoder\.gguf has no cache/],
      [['--model', ggml, '--batch', '2'], /ggml-test\.bin computes one window at a time/],
      [['--model', encoderFolder, '--prompt', '100', '--no-check'], /asked for 1 texts of 100 tokens/],
      [['--model', join(folder, 'nowhere')], /MODEL_NOT_FOUND/],
    ] as const) {
      const { code, stderr } = await quern(['bench', ...args]);
      expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
    }
  },
  2 * patience,
);

test('bench --make writes models of every kind', async () => {
  for (const arch of ['tiny', 'whisper-test']) {
    const path = join(folder, `${arch}.gguf`);
    const { code, stdout, stderr } = await quern([
      'bench',
      '--arch',
      arch,
      '--format',
      'q8_0',
      '--make',
      path,
    ]);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain(`${arch} in q8_0`);
    expect((await describeFile(path)).tensors.length).toBeGreaterThan(0);
  }
});

test.each([
  [['--arch', 'bge-smal'], /--arch .*bge-smal.* Allowed choices are .*qwen3-0\.6b.*bge-small.*whisper-tiny/],
  [['--arch', 'bge-small', '--depth', '16'], /bge-small q4_k_m has no cache/],
  [['--arch', 'whisper-tiny', '--batch', '2'], /whisper-tiny q4_k_m computes one window at a time/],
  [['--arch', 'tiny', '--prompt', '65', '--no-check'], /asked for 1 texts of 65 tokens.* 3 to 64/],
  [['--arch', 'qwen3-0.6b,gpt-5'], /--arch .*gpt-5.* Allowed choices are qwen3-0\.6b/],
  [['--depth', '0,-1'], /--depth .* invalid/],
  [['--batch', '0'], /--batch .* invalid/],
  [['--model', 'demo', '--arch', 'qwen3-0.6b'], /'--model <file>' cannot be used with option '--arch/],
  [['--make', join(folder, 'two.gguf'), '--format', 'q4_0,q8_0'], /--make writes one file/],
  [['--model', 'demo', '--isa', 'sse9'], /'sse9' is not available/],
])('bench %j is refused', async (args, message) => {
  const { code, stdout, stderr } = await quern(['bench', ...args]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(message);
});

test('works, and the context they need', () => {
  const works = worksOf({ prompt: [8], gen: [4], depth: [0, 16], batch: [1, 2] });
  expect(works).toEqual([
    { kind: 'prefill', tokens: 8, depth: 0 },
    { kind: 'prefill', tokens: 8, depth: 16 },
    { kind: 'decode', tokens: 4, depth: 0, batch: 1 },
    { kind: 'decode', tokens: 4, depth: 0, batch: 2 },
    { kind: 'decode', tokens: 4, depth: 16, batch: 1 },
    { kind: 'decode', tokens: 4, depth: 16, batch: 2 },
  ]);
  expect(contextOf(works)).toBe(16 + 8 + 1);
});

test(
  'wrong logits: an error instead of figures',
  async () => {
    using backend = (await findBackend('cpu')).backend;
    using model = await loadModel('demo', { backend, context: 8 });
    const { signal } = new AbortController();
    const { path } = model;
    const scaled = (factor: number) => ({
      path,
      logits: async (ids: readonly number[]) =>
        (await model.logits(ids)).map((row) => row.map((value) => value * factor)),
    });
    const pretended = { name: 'cpu', profile: { ...backend.profile, isa: 'new' } };
    const right = await checkOutput(scaled(1.05), pretended, signal);
    expect(right).toMatchObject({ against: 'cpu (scalar)', relativeError: expect.closeTo(0.05, 1) }); // plus the error of rounded activations
    const wrong = checkOutput(scaled(1.2), pretended, signal);
    await expect(wrong).rejects.toMatchObject({ code: 'WRONG_OUTPUT' });
  },
  patience,
);

test(
  'wrong states or logits of a speech model: an error instead of figures',
  async () => {
    const path = join(folder, 'checked.gguf');
    await quern(['bench', '--arch', 'whisper-test', '--format', 'q8_0', '--make', path]);
    using backend = (await findBackend('cpu')).backend;
    using model = await loadSpeechModel(path, { backend });
    const pretended = { name: 'cpu', profile: { ...backend.profile, isa: 'new' } };
    const { signal } = new AbortController();
    const changed = (part: 'encoded' | 'logits', factor: number) => ({
      path,
      config: model.config,
      compute: async (...args: Parameters<typeof model.compute>) => {
        const { encoded, logits } = await model.compute(...args);
        const scaled = (row: Float32Array) => row.map((value) => value * factor);
        return part === 'encoded'
          ? { encoded: scaled(encoded), logits }
          : { encoded, logits: [...logits.slice(0, -1), scaled(logits.at(-1)!)] };
      },
    });
    for (const part of ['encoded', 'logits'] as const) {
      const right = await checkSpeech(changed(part, 1.01), pretended, signal);
      expect(right).toMatchObject({ against: 'cpu (scalar)' });
      await expect(checkSpeech(changed(part, 1.3), pretended, signal)).rejects.toMatchObject({
        code: 'WRONG_OUTPUT',
        message: expect.stringMatching(/the states and logits of cpu/),
      });
    }
  },
  patience,
);

test('relative error of the norm; NaN fails every bound', () => {
  expect(relativeError(Float32Array.of(3, 4.5), Float32Array.of(3, 4))).toBeCloseTo(0.1);
  expect(relativeError(Float32Array.of(3, Number.NaN), Float32Array.of(3, 4))).toBeNaN();
});

test('quantiles are interpolated linearly', () => {
  expect(median([5, 1, 3])).toBe(3);
  expect(median([1, 2])).toBe(1.5);
  expect(quantile([1, 2, 3, 4, 5], 0.25)).toBe(2);
});
