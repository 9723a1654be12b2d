import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeGguf } from '@quern/quant';
import { writeEncoderFolder } from '../../runtime/test/quantize/encoder-folder.mjs';
import { leastCosine } from '../src/quantize/accuracy.js';
import { quern, start } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-cli-quantize-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const stories = fileURLToPath(
  new URL('../../runtime/test/model/accuracy/held-out-stories.txt', import.meta.url),
);

test('quantize writes a smaller model that still tells the story', async () => {
  const out = join(folder, 'q4.gguf');
  const { code, stderr, stdout } = await quern(['quantize', 'demo', out, 'q4_0']);
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toMatch(/q4\.gguf: q4_0, 1\.\d MB in .* relative error/);
  expect(stderr).toMatch(/tensors are quantised already/);
  const { stdout: story } = await quern([
    'run',
    out,
    '--raw',
    '-p',
    'Once upon a time',
    '-n',
    '20',
    '--temperature',
    '0',
  ]);
  expect(story.length).toBeGreaterThan(40);
});

test('quantize --report compares formats', async () => {
  const args = [
    'quantize',
    'demo',
    '--report',
    '--formats',
    'q8_0,q4_0',
    '--text',
    stories,
    '--tokens',
    '200',
  ];
  const { code, stdout } = await quern([...args, '--json']);
  expect(code).toBe(0);
  const { source, formats } = JSON.parse(stdout);
  expect(formats.map(({ format }: { format: string }) => format)).toEqual(['q8_0', 'q4_0']);
  const [q8, q4] = formats;
  expect(source.perplexity).toBeGreaterThan(1);
  expect(q8.perplexity).toBeCloseTo(source.perplexity, 6); // the source is q8_0
  expect(q4.byteLength).toBeLessThan(q8.byteLength);
  expect([q8.relativeError, q4.relativeError > 0.01]).toEqual([0, true]);
  expect(q4.tensors[0]).toMatchObject({ from: 'q8_0', to: 'q4_0' });
});

test('quantize --report of an encoder: cosines of line embeddings', async () => {
  const encoder = join(folder, 'encoder');
  mkdirSync(encoder);
  writeEncoderFolder(encoder, 'bert');
  const text = join(folder, 'lines.txt');
  writeFileSync(text, 'the cat sat on a mat\n\nplaying, walked\n');
  const args = ['quantize', encoder, '--report', '--formats', 'f32,q8_0,q4_0', '--text', text];
  const { code, stdout } = await quern([...args, '--json']);
  expect(code).toBe(0);
  const { source, formats } = JSON.parse(stdout);
  expect(source).toEqual({ path: encoder, byteLength: expect.any(Number) });
  const [f32, q8, q4] = formats;
  expect(f32.leastCosine).toBeCloseTo(1, 6);
  expect(q8.leastCosine).toBeLessThan(1);
  expect(q8.leastCosine).toBeGreaterThan(0.99);
  expect(q4.leastCosine).toBeLessThan(q8.leastCosine);
  expect(q4.tensors.length).toBeGreaterThan(0);
  expect(q4).not.toHaveProperty('perplexity');
  const table = await quern([...args.slice(0, 4), 'q8_0', '--text', text, '--tokens', '1']);
  expect(table.stdout).toMatch(/\| format \| MB \| relative error \| least cosine \| seconds \|/);
  expect(table.stdout).toMatch(/\| q8_0 \| 0\.\d \| \d\.\d+e-3 \| 0\.99\d+ \|/);
});

test('quantize --report of a speech model: sizes and errors, and a notice about perplexity', async () => {
  const path = join(folder, 'speech.gguf');
  await quern(['bench', '--arch', 'whisper-test', '--format', 'f32', '--make', path]);
  const args = ['quantize', path, '--report', '--formats', 'q8_0', '--text', stories];
  const { code, stdout, stderr } = await quern(args);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/is a speech model: no perplexity/)]);
  expect(stdout).toMatch(/\| format \| MB \| relative error \| seconds \|/);
  const { formats } = JSON.parse((await quern([...args, '--json'])).stdout);
  expect(formats).toEqual([expect.objectContaining({ format: 'q8_0', relativeError: expect.any(Number) })]);
  expect(formats[0]).not.toHaveProperty('perplexity');
});

test('a report with a missing or empty text fails before writing', async () => {
  const empty = join(folder, 'empty.txt');
  writeFileSync(empty, '\n \n');
  const out = join(folder, 'unwritten.gguf');
  const encoder = join(folder, 'encoder');
  for (const [args, message] of [
    [['demo', out, 'q4_0', '--report', '--text', join(folder, 'nowhere.txt')], /NOT_FOUND/],
    [[encoder, out, 'q4_0', '--report', '--text', empty], /EMPTY_PROMPT/],
  ] as const) {
    const { code, stderr } = await quern(['quantize', ...args]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
    expect(existsSync(out)).toBe(false);
  }
});

test('the least cosine of two rows', () => {
  const rows = (...values: number[]) => ({ values: Float32Array.from(values), dimensions: 2 });
  expect(leastCosine(rows(1, 0, 3, 4), rows(5, 0, 4, 3))).toBeCloseTo(0.96);
  expect(leastCosine(rows(1, 0), rows(-1, 0))).toBe(-1);
});

test('quantize does not overwrite files, and refuses contradictory flags', async () => {
  const out = join(folder, 'there.gguf');
  writeFileSync(out, 'mine');
  for (const [args, message] of [
    [['demo', out, 'q8_0'], /exists already: --force/],
    [['demo', out], /missing required argument 'format'/],
    [['demo'], /only --report works/],
    [['demo', out, 'q9'], /Allowed choices are/],
    [['demo', join(folder, 'x.gguf'), 'q8_0', '--imatrix', out], /not an importance matrix/],
    [['demo', join(folder, 'no', 'x.gguf'), 'q8_0'], /WRITE_FAILED/],
  ] as const) {
    const { code, stderr } = await quern(['quantize', ...args]);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  }
  expect(readFileSync(out, 'utf8')).toBe('mine');
  expect(existsSync(join(folder, 'x.gguf'))).toBe(false);
});

const llama = {
  'general.architecture': 'llama',
  'llama.embedding_length': 1024,
  'llama.block_count': 1,
  'llama.context_length': 64,
  'llama.feed_forward_length': 8192,
  'llama.attention.head_count': 8,
  'llama.attention.layer_norm_rms_epsilon': 1e-5,
  'llama.vocab_size': 16,
};

test('an interrupt leaves no partial file', async () => {
  const made = join(folder, 'large.gguf');
  const out = join(folder, 'interrupted.gguf');
  const values = Uint16Array.from({ length: 2 ** 23 }, (_, i) => (i * 40503) & 0x3bff); // f16 from 0 to 1
  const tensor = { name: 'blk.0.ffn_up.weight', shape: [2 ** 13, 2 ** 10], format: 'f16' } as const;
  await writeGguf(made, { metadata: llama, tensors: [{ ...tensor, data: new Uint8Array(values.buffer) }] });
  const { interrupt, finished } = start(['quantize', made, out, 'q2_k']);
  const written = () => readdirSync(folder).some((name) => name.startsWith('interrupted'));
  for (let turn = 0; turn < 1000 && !written(); turn++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  interrupt();
  expect((await finished).code).toBe(130);
  expect(written()).toBe(false);
});
