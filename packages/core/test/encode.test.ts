import { recordOps as b } from '../src/generated/ops.js';
import { headerWords, opcodes, operandWords, planMagic, planVersion, regions } from '../src/index.js';
import { encodePlan } from '../src/plan/encode.js';
import { layOut } from '../src/plan/layout.js';
import { indices, input, Planner } from './planning.js';

const planner = new Planner();

/** Reads operands as encode.ts documents them. */
function readOperand(words: Int32Array, at: number) {
  const [region, id, low, high, dtype, rank, ...dims] = words.slice(at, at + operandWords);
  return {
    region,
    id,
    offset: high! * 2 ** 32 + (low! >>> 0),
    dtype,
    shape: dims.slice(0, rank),
    rest: dims.slice(rank),
  };
}

function readOps(words: Int32Array) {
  const floats = new Float32Array(words.buffer, words.byteOffset, words.length);
  const ops = [];
  for (let at = headerWords; at < words.length; at += words[at + 1]!) {
    const [opcode, , attributeCount, operandCount] = words.slice(at, at + 4);
    const attributes = Array.from({ length: attributeCount! }, (_, i) => at + 4 + i);
    const first = at + 4 + attributeCount!;
    ops.push({
      opcode,
      ints: attributes.map((i) => words[i]),
      floats: attributes.map((i) => floats[i]),
      operands: Array.from({ length: operandCount! }, (_, i) => readOperand(words, first + i * operandWords)),
    });
  }
  return ops;
}

const absent = { region: regions.none, id: 0, offset: 0, dtype: 0, shape: [], rest: [0, 0, 0, 0] };
const at = (region: number, offset: number, dtype: number, shape: number[], id = 0) => ({
  region,
  id,
  offset,
  dtype,
  shape,
  rest: Array(4 - shape.length).fill(0),
});

test('a small plan, word by word', () => {
  const weight = planner.weight([4, 3], 'q8_0');
  const plan = planner.plan((step) => {
    const x = input(step, 5, 3); // inputs, bytes 0 to 60
    const h = b.slice(b.scale(x, 0.5), 2, 4); // arena, from byte 24
    b.linear(h, weight); // outputs
  });
  const encoded = encodePlan(plan.ops, layOut(plan));
  const { words } = encoded;
  expect(Array.from(words.slice(0, headerWords))).toEqual([
    ...[planMagic, planVersion, 2, words.length],
    ...[64, 0, 64, 0, 64, 0], // arena, inputs, outputs
    ...Array(6).fill(0),
  ]);
  expect(encoded).toMatchObject({ arenaBytes: 64, inputsBytes: 64, outputsBytes: 64, opCount: 2 });
  const [scale, linear] = readOps(words);
  expect(scale).toMatchObject({
    opcode: opcodes.get('scale'),
    floats: [0.5],
    operands: [at(regions.inputs, 0, 0, [5, 3]), at(regions.arena, 0, 0, [5, 3])],
  });
  expect(linear).toMatchObject({
    opcode: opcodes.get('linear'),
    ints: [0],
    operands: [
      at(regions.arena, 24, 0, [2, 3]),
      at(regions.weight, 0, -1, [4, 3], weight.handle.id),
      absent,
      at(regions.outputs, 0, 0, [2, 4]),
    ],
  });
});

test('buffers, integers and mixed attributes', () => {
  const layer = { k: planner.buffer([2, 4, 1, 8], 'f16'), v: planner.buffer([2, 4, 1, 8], 'f16') };
  const plan = planner.plan((step) => {
    const batch = {
      cuSeqlens: indices(step, 2),
      kvLengths: indices(step, 1),
      blockTable: indices(step, 1, 2),
    };
    const unused = indices(step, 1);
    const rest = { positions: unused, slots: unused, lastRows: unused };
    const config = { heads: 2, kvHeads: 1, headDim: 8, scale: 0.25, causal: true, window: 7, softCap: 30 };
    b.attention(input(step, 3, 2, 8), layer, { ...batch, ...rest }, config);
  });
  const [attention] = readOps(encodePlan(plan.ops, layOut(plan)).words);
  expect(attention!.floats[0]).toBe(0.25);
  expect(attention!.ints.slice(1, 3)).toEqual([1, 7]);
  expect(attention!.floats[3]).toBe(30);
  expect(attention!.operands.slice(1, 3)).toEqual([
    at(regions.buffer, 0, 1, [2, 4, 1, 8], layer.k.handle.id),
    at(regions.buffer, 0, 1, [2, 4, 1, 8], layer.v.handle.id),
  ]);
  expect(attention!.operands[5]).toMatchObject({ region: regions.inputs, dtype: 3, shape: [1, 2] });
});

test('offsets past 4 GiB keep their high word', () => {
  const plan = planner.plan((step) => {
    const x = b.gatherRows(input(step, 1, 2 ** 10), indices(step, 2 ** 10)); // 4 MiB
    const wide = b.view(x, [1, 2 ** 20]);
    const huge = b.gatherRows(wide, indices(step, 2 ** 11)); // 8 GiB
    b.silu(b.slice(huge, 2 ** 11 - 1, 2 ** 11));
  });
  const ops = readOps(encodePlan(plan.ops, layOut(plan)).words);
  const { offset } = ops[2]!.operands[0]!;
  expect(offset).toBeGreaterThanOrEqual((2 ** 11 - 1) * 2 ** 22);
});

test('a plan of many ops grows the word buffer', () => {
  const plan = planner.plan((step) => {
    let x = input(step, 1, 1);
    for (let i = 0; i < 500; i++) x = b.scale(x, i);
  });
  const ops = readOps(encodePlan(plan.ops, layOut(plan)).words);
  expect(ops.map(({ floats }) => floats[0])).toEqual(Array.from({ length: 500 }, (_, i) => i));
});

const encoded = (plan: ReturnType<typeof planner.plan>) => encodePlan(plan.ops, layOut(plan));

test('plans with equal words have equal keys, other plans have other keys', () => {
  const weights = [planner.weight([4, 3]), planner.weight([4, 3])] as const;
  const key = (rows: number, factor: number, weight: (typeof weights)[number]) =>
    encoded(planner.plan((step) => b.linear(b.scale(input(step, rows, 3), factor), weight))).key;
  expect(key(2, 0.5, weights[0])).toBe(key(2, 0.5, weights[0]));
  const keys = [
    key(2, 0.5, weights[0]),
    key(3, 0.5, weights[0]),
    key(2, 2, weights[0]),
    key(2, 0.5, weights[1]),
  ];
  expect(new Set(keys).size).toBe(4);
});

test('an op is named by its weight, or by the last weight before it', () => {
  const [norm, w] = [planner.weight([3], 'f32', 'blk.0.norm'), planner.weight([4, 3], 'f32', 'blk.0.attn_q')];
  const plan = encoded(
    planner.plan((step) =>
      b.silu(b.tanh(b.linear(b.rmsNorm(b.scale(input(step, 2, 3), 2), norm, { eps: 0 }), w))),
    ),
  );
  const named = Array.from({ length: plan.opCount }, (_, i) => plan.nameOf(i));
  expect(named).toEqual([
    'scale',
    'rmsNorm blk.0.norm',
    'linear blk.0.attn_q',
    'tanh after blk.0.attn_q',
    'silu after blk.0.attn_q',
  ]);
});

test('attention has words for sinks only where a model has them: plans for older drivers stay as they were', () => {
  const [k, v] = [planner.buffer([2, 4, 1, 8], 'f32'), planner.buffer([2, 4, 1, 8], 'f32')];
  const config = { heads: 2, kvHeads: 1, headDim: 8, scale: 1, causal: true };
  const operands = (sinks?: ReturnType<Planner['weight']>) => {
    const plan = planner.plan((step) => {
      const ints = (...shape: number[]) => indices(step, ...shape);
      const batch = { cuSeqlens: ints(2), kvLengths: ints(1), blockTable: ints(1, 1) };
      b.attention(input(step, 1, 2, 8), { k, v }, batch as never, config, sinks);
    });
    return readOps(encodePlan(plan.ops, layOut(plan)).words)[0]!.operands.map(({ region }) => region);
  };
  const before = [
    regions.inputs,
    regions.buffer,
    regions.buffer,
    regions.inputs,
    regions.inputs,
    regions.inputs,
  ];
  expect(operands()).toEqual([...before, regions.outputs]);
  expect(operands(planner.weight([2]))).toEqual([...before, regions.weight, regions.outputs]);
});
