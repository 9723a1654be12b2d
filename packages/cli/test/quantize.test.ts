import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeGguf } from '@quern/quant';
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
  expect(q8.perplexity).toBeCloseTo(source.perplexity, 6); // it was q8_0 before
  expect(q4.byteLength).toBeLessThan(q8.byteLength);
  expect([q8.relativeError, q4.relativeError > 0.01]).toEqual([0, true]);
  expect(q4.tensors[0]).toMatchObject({ from: 'q8_0', to: 'q4_0' });
});

test('quantize keeps what is there, and refuses what makes no sense', async () => {
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

test('an interrupt leaves no half-written file', async () => {
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
