import { existsSync, linkSync, readFileSync, symlinkSync, truncateSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import {
  chooseFormat,
  decode,
  encode,
  encodeAll,
  FileError,
  type GgufFormat,
  interleaveHeads,
  isWritable,
  type MixedModel,
  type MixName,
  mixes,
  openGguf,
  QuantizeError,
  type QuantizeOptions,
  quantizeGguf,
  type TensorReport,
  writeGguf,
  writeQuantized,
} from '../src/index.js';
import { isSameFile } from '../src/quantize/same-file.js';
import { scratch } from './scratch.js';

const values = (count: number, seed = 1): Float32Array<ArrayBuffer> =>
  Float32Array.from({ length: count }, (_, i) => Math.sin(seed * i * i + i) * (1 + (i % 7)));

const bytesOf = (x: Float32Array<ArrayBuffer>) => new Uint8Array(x.buffer, x.byteOffset, x.byteLength);

const f32 = (name: string, shape: number[], seed = 1) => ({
  name,
  shape,
  format: 'f32' as const,
  data: bytesOf(
    values(
      shape.reduce((a, b) => a * b, 1),
      seed,
    ),
  ),
});

const metadata = {
  'general.architecture': 'llama',
  'llama.block_count': 2,
  'llama.attention.head_count': 8,
  'llama.attention.head_count_kv': 2,
  'llama.rope.freq_base': { type: 'float32', value: 10000 },
} as const;

const tensors = [
  f32('token_embd.weight', [12, 256], 2),
  f32('blk.0.attn_norm.weight', [256]),
  f32('blk.0.attn_q.weight', [6, 512], 3),
  f32('blk.0.attn_v.weight', [5, 256], 4),
  f32('blk.1.attn_v.weight', [5, 256], 4),
  f32('blk.1.ffn_down.weight', [9, 96], 5),
  f32('blk.1.ffn_gate_inp.weight', [4, 256], 6),
  f32('blk.1.ffn_up_exps.weight', [3, 4, 256], 7),
  f32('output.weight', [12, 256], 8),
];

/** A small model in its own file. */
async function model(name: string, changed = tensors): Promise<string> {
  const path = scratch(name);
  await writeGguf(path, { metadata, tensors: changed });
  return path;
}

async function quantized(input: string, mix: MixName, options: Partial<QuantizeOptions> = {}) {
  const path = scratch(`${mix}-${Math.random()}.gguf`);
  await quantizeGguf(input, path, { mix, threads: 1, ...options });
  const file = await openGguf(path);
  const bytes = readFileSync(path);
  const blocks = (name: string) => {
    const { offset, byteLength } = file.tensors.find((tensor) => tensor.name === name)!;
    return new Uint8Array(bytes.subarray(offset, offset + byteLength));
  };
  return { path, file, bytes, blocks };
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'nothing thrown',
    (error) => (error instanceof QuantizeError || error instanceof FileError ? error.code : error),
  );

test('each tensor is in the format of the mix, with the bytes of encode', async () => {
  const notices: string[] = [];
  const { file, blocks } = await quantized(await model('a.gguf'), 'q4_k_m', {
    onNotice: (text) => notices.push(text),
  });
  expect(Object.fromEntries(file.tensors.map(({ name, format }) => [name, format]))).toEqual({
    'token_embd.weight': 'q4_k',
    'blk.0.attn_norm.weight': 'f32',
    'blk.0.attn_q.weight': 'q4_k',
    'blk.0.attn_v.weight': 'q4_k',
    'blk.1.attn_v.weight': 'q6_k',
    'blk.1.ffn_down.weight': 'q8_0',
    'blk.1.ffn_gate_inp.weight': 'f32',
    'blk.1.ffn_up_exps.weight': 'q4_k',
    'output.weight': 'q6_k',
  });
  for (const { name, data } of tensors) {
    const { format } = file.tensors.find((tensor) => tensor.name === name)!;
    if (!isWritable(format)) throw new Error(`${name} is ${format}`);
    expect(blocks(name)).toEqual(encodeAll(format, new Float32Array(data.buffer)));
  }
  expect(notices).toHaveLength(1);
  expect(notices[0]).toMatch(/^1 tensor has rows .*blk\.1\.ffn_down\.weight \[9,96\] is q8_0, not q6_k/);
});

describe('int8', () => {
  /** The scale of each q8_0 block. */
  const scalesOf = (blocks: Uint8Array) => {
    const halves = Array.from({ length: blocks.length / 34 }, (_, i) => blocks.slice(34 * i, 34 * i + 2));
    return halves.map((half) => decodeAll('f16', half, 1)[0]!);
  };
  const decodeAll = (format: GgufFormat, bytes: Uint8Array, count: number) => {
    const decoded = new Float32Array(count);
    decode(format, bytes, 0, decoded, 0, count);
    return decoded;
  };

  test('is q8_0 with one scale per 256 weights of a row', async () => {
    const input = [
      ...tensors,
      f32('blk.1.ffn_up.weight', [3, 384], 11),
      f32('blk.1.attn_q.weight', [2, 100], 12),
    ];
    const { file, blocks } = await quantized(await model('to-int8.gguf', input), 'int8');
    expect(file.metadata.get('general.file_type')).toBe(7);
    const formatOf = (name: string) => file.tensors.find((tensor) => tensor.name === name)!.format;
    expect(formatOf('blk.0.attn_norm.weight')).toBe('f32');
    expect(formatOf('blk.1.attn_q.weight')).toBe('f16');
    for (const name of [
      'output.weight',
      'blk.0.attn_q.weight',
      'blk.1.ffn_up.weight',
      'blk.1.ffn_down.weight',
    ]) {
      const { shape, data } = input.find((tensor) => tensor.name === name)!;
      const x = new Float32Array(data.buffer);
      expect(formatOf(name)).toBe('q8_0');
      const scales = scalesOf(blocks(name));
      const decoded = decodeAll('q8_0', blocks(name), x.length);
      const columns = shape[1]!;
      for (const [i, value] of x.entries()) {
        const row = Math.floor(i / columns) * columns;
        const first = row + Math.floor((i - row) / 256) * 256;
        const near = x.subarray(first, Math.min(first + 256, row + columns));
        const step = scales[Math.floor(i / 32)]!;
        expect(step).toBe(scales[first / 32]);
        expect(Math.abs(step - Math.max(...near.map(Math.abs)) / 127)).toBeLessThan(step / 1000);
        expect(Math.abs(decoded[i]! - value)).toBeLessThanOrEqual(0.57 * step);
      }
    }
  });

  test('from int8 is unchanged; from q8_0 is rounded again, with a notice', async () => {
    const from = await model('int8-again.gguf');
    const [notices, reports]: [string[], TensorReport[]] = [[], []];
    const options = {
      onNotice: (text: string) => notices.push(text),
      onTensor: (report: TensorReport) => reports.push(report),
    };
    const once = await quantized(from, 'int8', options);
    expect(notices).toEqual([]);
    const twice = await quantized(once.path, 'int8', options);
    for (const { name } of tensors) expect(twice.blocks(name)).toEqual(once.blocks(name));
    expect(reports.slice(-7).map(({ relative }) => relative)).toEqual(Array(7).fill(0));
    const fromBlocks = await quantized((await quantized(from, 'q8_0')).path, 'int8', options);
    expect(scalesOf(fromBlocks.blocks('output.weight'))).toEqual(scalesOf(once.blocks('output.weight')));
    expect(notices.map((text) => /quantised already/.test(text))).toEqual([true, true]);
  });

  test('too large values are refused, zeros stay zeros', async () => {
    const with700 = async (value: number) => {
      const x = new Float32Array(12 * 256);
      x[700] = value;
      return model(`int8-${value}.gguf`, [{ ...tensors[0]!, data: bytesOf(x) }]);
    };
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1e8])
      expect(await codeOf(quantized(await with700(value), 'int8'))).toBe('BAD_VALUES');
    const { blocks } = await quantized(await with700(0), 'int8');
    expect(blocks('token_embd.weight').every((byte) => byte === 0)).toBe(true);
    const tensor = { ...tensors[0]!, from: 'f32', to: 'q4_0', parts: [], sharesScales: true } as const;
    expect(await codeOf(writeQuantized(scratch('shared-q4.gguf'), {}, [tensor]))).toBe('BAD_ARGUMENT');
  });
});

test('separate experts become stacks; experts of different shapes stay separate', async () => {
  const each = (layer: number, experts: readonly number[]) =>
    experts.map((e) => f32(`blk.${layer}.ffn_up.${e}.weight`, [4, 256], 10 * layer + e));
  const input = [...each(0, [1, 0, 2]), ...each(1, [0, 2]), f32('output.weight', [12, 256])];
  const { file, blocks } = await quantized(await model('apart.gguf', input), 'q8_0');
  expect(file.tensors.map(({ name, shape }) => `${name} [${shape}]`)).toEqual([
    'blk.0.ffn_up_exps.weight [3,4,256]',
    'blk.1.ffn_up.0.weight [4,256]',
    'blk.1.ffn_up.2.weight [4,256]',
    'output.weight [12,256]',
  ]);
  const inOrder = each(0, [0, 1, 2]).map(({ data }) => encodeAll('q8_0', new Float32Array(data.buffer)));
  expect(Buffer.from(blocks('blk.0.ffn_up_exps.weight'))).toEqual(Buffer.concat(inOrder));
});

describe('parts decoded when needed', () => {
  const part = (seed: number, count = 4 * 256) => ({
    path: scratch('source.bin'),
    byteLength: 100,
    decode: async () => values(count, seed),
  });
  const stack = (...parts: ReturnType<typeof part>[]) =>
    ({ name: 'w.weight', shape: [2, 4, 256], from: 'f32', to: 'q8_0', parts }) as const;
  const write = (name: string, tensor: ReturnType<typeof stack>) =>
    writeQuantized(scratch(name), { 'general.architecture': 'x' }, [tensor], { threads: 2 });

  test('become a stack, in order', async () => {
    await write('decoded.gguf', stack(part(3), part(4)));
    const { tensors } = await openGguf(scratch('decoded.gguf'));
    const { offset, byteLength } = tensors[0]!;
    const bytes = readFileSync(scratch('decoded.gguf')).subarray(offset, offset + byteLength);
    const wanted = [3, 4].map((seed) => encodeAll('q8_0', values(4 * 256, seed)));
    expect(bytes).toEqual(Buffer.concat(wanted));
  });

  test('of another size, or with an error, leave no file', async () => {
    expect(await codeOf(write('short.gguf', stack(part(3), part(4, 7))))).toBe('BAD_ARGUMENT');
    const broken = { ...part(3), decode: () => Promise.reject(new QuantizeError('BAD_VALUES', 'broken')) };
    expect(await codeOf(write('short.gguf', stack(part(3), broken)))).toBe('BAD_VALUES');
    expect(existsSync(scratch('short.gguf'))).toBe(false);
  });
});

test('metadata keeps its types, and names the mix', async () => {
  const { file } = await quantized(await model('b.gguf'), 'q8_0');
  expect(file.metadata.get('general.file_type')).toBe(7);
  expect(file.metadata.get('general.quantization_version')).toBe(2);
  expect(file.metadata.get('llama.block_count')).toBe(2);
  expect(file.metadataTypes.get('llama.rope.freq_base')).toBe('float32');
});

test('the same bytes for any number of threads', async () => {
  const long = [...tensors, f32('blk.0.ffn_up.weight', [5000, 256], 9)]; // several jobs
  const path = await model('c.gguf', long);
  const one = await quantized(path, 'q5_k_m');
  for (const threads of [2, 3])
    expect((await quantized(path, 'q5_k_m', { threads })).bytes.equals(one.bytes)).toBe(true);
});

test('the report gives the error of each tensor', async () => {
  const reports: TensorReport[] = [];
  const progress: number[] = [];
  const { blocks } = await quantized(await model('d.gguf'), 'q4_0', {
    onTensor: (report) => reports.push(report),
    onProgress: ({ done, total }) => progress.push(done / total),
  });
  const { name, from, to, rms, max, relative } = reports.find(
    (report) => report.name === 'blk.0.attn_q.weight',
  )!;
  expect([from, to]).toEqual(['f32', 'q4_0']);
  const x = values(6 * 512, 3);
  const decoded = new Float32Array(x.length);
  decode('q4_0', blocks(name), 0, decoded, 0, x.length);
  const errors = x.map((value, i) => decoded[i]! - value);
  const squares = errors.reduce((sum, error) => sum + error * error, 0);
  expect(rms).toBeCloseTo(Math.sqrt(squares / x.length), 6);
  expect(max).toBeCloseTo(Math.max(...errors.map(Math.abs)), 6);
  expect(relative).toBeCloseTo(Math.sqrt(squares / x.reduce((sum, value) => sum + value * value, 0)), 6);
  expect(progress.at(-1)).toBeCloseTo(1, 9);
  expect(progress).toEqual(progress.toSorted((a, b) => a - b));
});

test('importance applies to columns; in a stack, to the columns of each matrix', async () => {
  const one = Float32Array.from({ length: 512 }, (_, i) => 1 + (i % 3));
  const stack = Float32Array.from({ length: 3 * 256 }, (_, i) => 1 + (i % 5) * Math.floor(1 + i / 256));
  const entries = new Map([
    ['blk.0.attn_q.weight', one],
    ['blk.1.ffn_up_exps.weight', stack],
  ]);
  const notices: string[] = [];
  const importance = { path: 'some.imatrix', entries, chunks: 7 };
  const { file, blocks } = await quantized(await model('e.gguf'), 'q4_k_s', {
    importance,
    onNotice: (text) => notices.push(text),
  });
  const expected = (name: string, x: Float32Array, weights: Float32Array) => {
    const { format } = file.tensors.find((tensor) => tensor.name === name)!;
    if (!isWritable(format)) throw new Error(`${name} is ${format}`);
    const blocks = encodeAll(format, x);
    encode(format, x, 0, blocks, 0, x.length, weights);
    return blocks;
  };
  const q = 'blk.0.attn_q.weight';
  expect(blocks(q)).toEqual(expected(q, values(6 * 512, 3), one));
  const experts = 'blk.1.ffn_up_exps.weight';
  const each = [0, 1, 2].map((e) =>
    expected(
      experts,
      values(12 * 256, 7).subarray(e * 1024, (e + 1) * 1024),
      stack.subarray(e * 256, (e + 1) * 256),
    ),
  );
  expect(blocks(experts)).toEqual(new Uint8Array(Buffer.concat(each)));
  expect(file.metadata.get('quantize.imatrix.chunks_count')).toBe(7);
  expect(notices.some((text) => /some\.imatrix has no importance for \d tensors/.test(text))).toBe(true);
});

test('an importance of another model is refused', async () => {
  const entries = new Map([['blk.0.attn_q.weight', new Float32Array(64).fill(1)]]);
  const importance = { path: 'x', entries };
  expect(await codeOf(quantized(await model('f.gguf'), 'q4_k_m', { importance }))).toBe('BAD_IMPORTANCE');
});

test('rows of heads are interleaved, and parts joined', async () => {
  const d = 4;
  const x = values(16 * 32); // 4 heads of 4 rows of 32
  const path = scratch('rows.bin');
  await writeFile(path, bytesOf(x));
  const half = 8 * 32 * 4;
  const parts = [0, half].map((offset) => ({ path, offset, byteLength: half }));
  const out = scratch('rows.gguf');
  await writeQuantized(out, {}, [{ name: 'q', shape: [16, 32], from: 'f32', to: 'f32', parts, rotary: d }]);
  const [tensor] = (await openGguf(out)).tensors;
  const stored = new Uint8Array(
    readFileSync(out).subarray(tensor!.offset, tensor!.offset + tensor!.byteLength),
  );
  const found = new Float32Array(stored.buffer);
  for (let row = 0; row < 16; row++) {
    const p = row % d; // pairs (0, 2), (1, 3) become neighbours
    const from = row - p + [0, 2, 1, 3][p]!;
    expect(found.slice(row * 32, (row + 1) * 32)).toEqual(x.slice(from * 32, (from + 1) * 32));
  }
  expect(interleaveHeads(x, 32, d)).toEqual(found);
});

test('the output may not be the input under any name', async () => {
  const path = await model('g.gguf');
  const before = await readFile(path);
  linkSync(path, scratch('hard.gguf'));
  const names = [path, scratch('hard.gguf')];
  if (process.platform !== 'win32') {
    symlinkSync(path, scratch('soft.gguf')); // Windows: for administrators alone
    names.push(scratch('soft.gguf'));
  }
  for (const output of names)
    expect(await codeOf(quantizeGguf(path, output, { mix: 'q8_0' }))).toBe('SAME_FILE');
  expect((await readFile(path)).equals(before)).toBe(true);
});

test('files are told apart by all 64 bits of their numbers', () => {
  const ino = 0x0128_0000_0001_2344n; // as NTFS gives them: the next number is the same double
  expect(Number(ino)).toBe(Number(ino + 1n));
  expect(isSameFile({ dev: 1n, ino }, { dev: 1n, ino: ino + 1n })).toBe(false);
  expect(isSameFile({ dev: 1n, ino }, { dev: 2n, ino })).toBe(false);
  expect(isSameFile({ dev: 1n, ino }, { dev: 1n, ino })).toBe(true);
});

test('values that are not finite, or too large for the format, are refused and leave no file', async () => {
  const broken = (value: number) => {
    const x = values(12 * 256, 2);
    x[700] = value;
    return [{ ...tensors[0]!, data: bytesOf(x) }, ...tensors.slice(1)];
  };
  const output = scratch('broken-out.gguf');
  for (const [value, mix] of [
    [Number.NaN, 'q4_k_m'],
    [Number.NEGATIVE_INFINITY, 'q8_0'],
    [1e6, 'f16'],
  ] as const) {
    const path = await model(`broken-${value}.gguf`, broken(value));
    expect(await codeOf(quantizeGguf(path, output, { mix }))).toBe('BAD_VALUES');
  }
  expect([existsSync(output), existsSync(`${output}.partial`)]).toEqual([false, false]);
});

test('an abort stops quantising and leaves no file', async () => {
  const path = await model('h.gguf', [...tensors, f32('blk.0.ffn_up.weight', [6000, 256], 9)]);
  const output = scratch('aborted.gguf');
  const controller = new AbortController();
  const { signal } = controller;
  const onProgress = () => controller.abort();
  expect(await codeOf(quantizeGguf(path, output, { mix: 'q2_k', threads: 2, signal, onProgress }))).toBe(
    'ABORTED',
  );
  expect(await codeOf(quantizeGguf(path, output, { mix: 'q2_k', signal }))).toBe('ABORTED');
  expect([existsSync(output), existsSync(`${output}.partial`)]).toEqual([false, false]);
});

test('a file that shrinks during reading is an error, and leaves no file', async () => {
  const path = await model('i.gguf', [...tensors, f32('blk.0.ffn_up.weight', [6000, 256], 9)]);
  const output = scratch('shrunk.gguf');
  const onProgress = () => truncateSync(path, 100_000);
  expect(await codeOf(quantizeGguf(path, output, { mix: 'q8_0', threads: 1, onProgress }))).toBe('TRUNCATED');
  expect([existsSync(output), existsSync(`${output}.partial`)]).toEqual([false, false]);
});

test('arguments out of range are refused', async () => {
  const path = await model('j.gguf');
  const out = scratch('out-of-range.gguf');
  for (const options of [
    { mix: 'q9_z' as MixName },
    { mix: 'q8_0', threads: 0 },
    { mix: 'q8_0', threads: 1.5 },
  ] as const)
    expect(await codeOf(quantizeGguf(path, out, options))).toBe('BAD_ARGUMENT');
  expect(await codeOf(quantizeGguf(scratch('none.gguf'), out, { mix: 'q8_0' }))).toBe('NOT_FOUND');
  expect(await codeOf(quantizeGguf(path, scratch('no/folder.gguf'), { mix: 'q8_0' }))).toBe('WRITE_FAILED');
});

describe('mixes', () => {
  const place: MixedModel = { layers: 32, groupedQueries: 4, experts: 0, weighted: false, tied: false };
  const format = (mix: MixName, name: string, model: Partial<MixedModel> = {}, row = 1024): GgufFormat =>
    chooseFormat({ name, shape: [8, row], format: 'f16' }, mixes[mix], { ...place, ...model }).format;
  const layersOf = (mix: MixName, part: string, wanted: GgufFormat, layers = 32) =>
    Array.from({ length: layers }, (_, i) => i).filter(
      (i) => format(mix, `blk.${i}.${part}.weight`, { layers }) === wanted,
    );

  test('the layers with more bits in llama.cpp', () => {
    expect(layersOf('q4_k_m', 'ffn_down', 'q6_k')).toEqual([
      0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31,
    ]);
    expect(layersOf('q5_k_m', 'attn_v', 'q6_k', 28)).toEqual([
      0, 1, 2, 5, 8, 11, 14, 17, 20, 23, 24, 25, 26, 27,
    ]);
    expect(layersOf('q4_k_s', 'attn_v', 'q5_k')).toEqual([0, 1, 2, 3]);
    expect(layersOf('q4_k_s', 'ffn_down', 'q5_k')).toEqual([0, 1, 2, 3]);
    expect(layersOf('q3_k_m', 'ffn_down', 'q5_k')).toEqual([0, 1]);
  });

  test('the embedding has the output’s format only if it serves as output', () => {
    expect(format('q4_k_m', 'token_embd.weight')).toBe('q4_k');
    expect(format('q4_k_m', 'token_embd.weight', { tied: true })).toBe('q6_k');
    expect(format('q8_0', 'output.weight')).toBe('q8_0');
    expect(format('q4_0', 'output.weight')).toBe('q6_k');
    expect(format('f16', 'output.weight')).toBe('f16');
  });

  test('few key heads, eight experts and importance change rules', () => {
    expect(format('q2_k', 'blk.9.attn_v.weight')).toBe('q4_k');
    expect(format('q2_k', 'blk.9.attn_v.weight', { groupedQueries: 1 })).toBe('q3_k');
    expect(format('iq4_xs', 'blk.9.attn_v.weight')).toBe('q5_k');
    expect(format('iq4_nl', 'blk.0.ffn_down.weight')).toBe('q5_k');
    expect(format('iq4_nl', 'blk.0.ffn_down.weight', { weighted: true })).toBe('iq4_nl');
    expect(format('iq4_xs', 'blk.9.ffn_up.weight', {}, 96)).toBe('iq4_nl');
    expect(format('q4_k_m', 'blk.9.attn_k.weight', { experts: 8 })).toBe('q8_0');
    expect(format('q4_k_m', 'blk.9.attn_output.weight', { experts: 8 })).toBe('q5_k');
    expect(format('q4_0', 'blk.0.ffn_down.weight', { weighted: true })).toBe('q4_1');
    expect(format('q4_0', 'blk.0.ffn_down.weight')).toBe('q4_0');
    expect(format('q4_k_m', 'blk.11.attn_v.weight', { layers: 80 })).toBe('q5_k');
  });

  test('q2_k_s is q2_k with few exceptions, mxfp4_moe is q8_0 except for experts', () => {
    expect(format('q2_k_s', 'blk.9.attn_v.weight')).toBe('q4_k');
    expect(format('q2_k_s', 'blk.9.attn_v.weight', { groupedQueries: 1 })).toBe('q2_k');
    expect(layersOf('q2_k_s', 'ffn_down', 'q4_k')).toEqual([0, 1, 2, 3]);
    expect(format('q2_k_s', 'blk.9.attn_output.weight')).toBe('q2_k');
    expect(format('q2_k_s', 'output.weight')).toBe('q6_k');
    expect(format('mxfp4_moe', 'blk.9.ffn_down.weight')).toBe('q8_0');
    expect(format('mxfp4_moe', 'output.weight')).toBe('q8_0');
    const stack = { name: 'blk.9.ffn_up_exps.weight', shape: [4, 8, 64], format: 'f32' } as const;
    const model = { layers: 12, groupedQueries: 4, experts: 4, weighted: false, tied: false };
    expect(chooseFormat(stack, mixes.mxfp4_moe, model)).toEqual({ format: 'mxfp4' });
  });

  test('rows that are not whole blocks get a fallback format', () => {
    expect(format('q4_k_s', 'blk.9.attn_q.weight', {}, 96)).toBe('q5_0');
    expect(format('q5_k_s', 'blk.9.attn_q.weight', {}, 96)).toBe('q5_1');
    expect(format('q6_k', 'blk.9.attn_q.weight', {}, 96)).toBe('q8_0');
    expect(format('q6_k', 'blk.9.attn_q.weight', {}, 100)).toBe('f16');
  });

  test('norms, routers, positions and biases keep their format', () => {
    for (const name of [
      'blk.0.attn_norm.weight',
      'blk.0.ffn_gate_inp.weight',
      'position_embd.weight',
      'blk.0.attn_q.bias',
    ])
      expect(format('q4_0', name)).toBe('f16');
  });
});
