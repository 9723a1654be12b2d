import { recordOps as b } from '../src/generated/ops.js';
import { coreOps, elementCount, type Tensor } from '../src/index.js';
import { indices, input, names, Planner } from './planning.js';

const planner = new Planner();
const code = (wanted: string, message = '') =>
  expect.objectContaining({ code: wanted, message: expect.stringContaining(message) });

/** The last op that a call records, and its attributes by name. */
function recorded(record: (step: ReturnType<Planner['step']>) => void) {
  const { ops } = planner.plan(record);
  const { op, attributes, operands } = ops[ops.length - 1]!;
  const named = Object.fromEntries(Object.keys(op.attributes).map((name, i) => [name, attributes[i]]));
  return { op: op.name, attributes: named, operands };
}

const layer = { k: planner.buffer([2, 4, 2, 8]), v: planner.buffer([2, 4, 2, 8]) };
const config = { heads: 4, kvHeads: 2, headDim: 8, scale: 0.5, causal: true };

describe('each call records its op', () => {
  type Call = (step: ReturnType<Planner['step']>) => unknown;
  const w = (...shape: number[]) => planner.weight(shape);
  const x = (step: Parameters<Call>[0]) => input(step, 3, 8);
  const calls: Readonly<Record<string, [Call, Record<string, number>?]>> = {
    embed: [(s) => b.embed(w(9, 8), indices(s, 3))],
    linear: [(s) => b.linear(x(s), w(5, 8), { bias: w(5) })],
    add: [(s) => b.add(x(s), x(s))],
    mul: [(s) => b.mul(x(s), input(s, 8))],
    scale: [(s) => b.scale(x(s), 0.25), { factor: 0.25 }],
    rmsNorm: [(s) => b.rmsNorm(x(s), w(8), { eps: 0.125 }), { eps: 0.125 }],
    silu: [(s) => b.silu(x(s))],
    gelu: [(s) => b.gelu(x(s), { form: 'tanh' }), { form: 1 }],
    swiglu: [(s) => b.swiglu(x(s), x(s))],
    geglu: [(s) => b.geglu(x(s), x(s))],
    rope: [(s) => b.rope(input(s, 3, 2, 8), indices(s, 3), { theta: 1e4, layout: 'halves' }), { layout: 1 }],
    attention: [
      (s) => {
        const batch = { cuSeqlens: indices(s, 2), kvLengths: indices(s, 1), blockTable: indices(s, 1, 2) };
        const rest = { positions: indices(s, 3), slots: indices(s, 3), lastRows: indices(s, 1) };
        return b.attention(input(s, 3, 4, 8), layer, { ...batch, ...rest }, config, w(4));
      },
      { scale: 0.5, causal: 1, window: 0, softCap: 0, bf16: 0 },
    ],
    kvAppend: [(s) => b.kvAppend(layer, input(s, 3, 2, 8), input(s, 3, 2, 8), indices(s, 3))],
    softmax: [(s) => b.softmax(x(s))],
    argmax: [(s) => b.argmax(x(s))],
    topK: [(s) => b.topK(x(s), 4), { k: 4 }],
    maskLogits: [(s) => b.maskLogits(x(s), indices(s, 3, 1))],
    penalise: [(s) => b.penalise(x(s), indices(s, 3, 2), input(s, 3, 3))],
    logProbs: [(s) => b.logProbs(x(s), indices(s, 3, 2))],
    sample: [(s) => b.sample(x(s), input(s, 3, 4), indices(s, 5, 2), indices(s, 3))],
    gatherRows: [(s) => b.gatherRows(x(s), indices(s, 2))],
    cast: [(s) => b.cast(x(s), 'bf16'), { to: 2 }],
    conv1d: [
      (s) => b.conv1d(x(s), w(5, 24), { bias: w(5), stride: 2, padding: 1 }),
      { stride: 2, padding: 1 },
    ],
    log10: [(s) => b.log10(x(s), { floor: 0.125 }), { floor: 0.125 }],
  };
  test.each(Object.entries(calls))('%s', (name, [call, attributes = {}]) => {
    const got = recorded(call);
    expect(got).toMatchObject({ op: name, attributes });
    expect(got.operands.every((operand) => operand !== undefined)).toBe(true);
  });
});

test('the rope table is made once per step, positions and options', () => {
  const plan = planner.plan((step) => {
    const [near, far] = [indices(step, 3), indices(step, 3)];
    const x = input(step, 3, 2, 8);
    const options = { theta: 10000, layout: 'halves' } as const;
    for (let layerIndex = 0; layerIndex < 3; layerIndex++) b.rope(x, near, options);
    b.rope(x, near, { ...options });
    b.rope(x, far, options);
    b.rope(x, near, { ...options, theta: 500 });
  });
  expect(names(plan).filter((name) => name === 'ropeTable')).toHaveLength(3);
});

test('views and slices share storage', () => {
  const step = planner.step();
  const x = step.input(new Float32Array(24), [4, 6]);
  const view = b.view(x, [2, 12]);
  const slice = b.slice(view, 1, 2);
  const again = b.slice(b.view(slice, [3, 4]), 1, 3);
  const own = (tensor: Tensor) => step.own('test', 'x', tensor);
  expect(own(again).storage).toBe(x.storage);
  expect(own(again).byteOffset).toBe(4 * (12 + 4));
  expect(again.shape).toEqual([2, 4]);
  expect(elementCount(b.slice(x, 2, 2).shape)).toBe(0);
});

test.each<[string, string, string, (step: ReturnType<Planner['step']>) => unknown]>([
  ['a view of another size', 'BAD_SHAPE', '[2, 3]', (s) => b.view(input(s, 2, 3), [7])],
  ['more dimensions than a plan holds', 'BAD_SHAPE', 'at most 4', (s) => input(s, 1, 1, 1, 1, 1)],
  ['a dimension past 31 bits', 'BAD_SHAPE', '2147483648', (s) => s.input(new Float32Array(0), [0, 2 ** 31])],
  ['a slice past the end', 'BAD_SHAPE', '1 to 4', (s) => b.slice(input(s, 3), 1, 4)],
  ['a slice backwards', 'BAD_SHAPE', '2 to 1', (s) => b.slice(input(s, 3), 2, 1)],
  ['an input of too few values', 'BAD_SHAPE', '3 values', (s) => s.input(new Float32Array(3), [2, 2])],
  ['16-bit values without a dtype', 'BAD_DTYPE', 'f16 or bf16', (s) => s.input(new Uint16Array(2))],
  ['floats said to be f16', 'BAD_DTYPE', 'f16', (s) => s.input(new Float32Array(2), [2], 'f16')],
  ['integers to a float op', 'BAD_DTYPE', '[silu] x must be f32; got i32', (s) => b.silu(indices(s, 3))],
  [
    'other heads than configured',
    'BAD_SHAPE',
    '[T, 4, 8]',
    (s) => {
      const t = indices(s, 1);
      const batch = { cuSeqlens: t, kvLengths: t, blockTable: t, positions: t, slots: t, lastRows: t };
      b.attention(input(s, 3, 2, 8), layer, batch, config);
    },
  ],
  [
    'a weight where a tensor belongs',
    'BAD_ARGUMENT',
    '[add] b must be a tensor; got a weight',
    (s) => s.record(coreOps.add, { a: input(s, 1), b: planner.weight([1]) }),
  ],
  [
    'an operand left out',
    'BAD_ARGUMENT',
    '[add] b is missing',
    (s) => s.record(coreOps.add, { a: input(s, 1) }),
  ],
  [
    'a weight made by hand',
    'BAD_ARGUMENT',
    "was not made by a backend's loadWeight",
    (s) =>
      b.linear(input(s, 1, 1), {
        ...planner.weight([1, 1]),
        kind: 'weight',
        byteLength: 4,
        disposed: false,
        dispose() {},
        [Symbol.dispose]() {},
      }),
  ],
  [
    'a weight of another backend',
    'WRONG_STEP',
    'another backend',
    (s) => b.linear(input(s, 1, 1), new Planner().weight([1, 1])),
  ],
  [
    'a tensor of another step',
    'WRONG_STEP',
    'another step',
    (s) => b.add(input(s, 1), input(planner.step(), 1)),
  ],
])('%s is refused', (_name, wanted, message, act) => {
  const step = planner.step();
  expect(() => act(step)).toThrow(code(wanted, message));
});

test('a refused call records nothing', () => {
  const plan = planner.plan((step) => {
    const x = input(step, 2, 3);
    expect(() => b.linear(x, planner.weight([4, 9]))).toThrow(code('BAD_SHAPE', 'w must have shape [N, 3]'));
    b.silu(x);
  });
  expect(names(plan)).toEqual(['silu']);
});

test('unread tensors are kept, and tensors after keep()', () => {
  const plan = planner.plan((step) => {
    const x = input(step, 2, 3);
    const inner = b.silu(x);
    const told = b.silu(inner);
    step.keep(told);
    b.silu(told);
    b.topK(x, 1);
  });
  expect(plan.storages.map(({ kept }) => kept)).toEqual([false, false, true, true, true, true]);
});

test('attributes are recorded as plans carry them, and definitions get the same', () => {
  expect(recorded((s) => b.scale(input(s, 3), 0.1)).attributes).toEqual({ factor: Math.fround(0.1) });
  const y = { shape: [1], data: new Float64Array(1) };
  coreOps.scale.define({ x: { shape: [1], data: Float64Array.of(1) } }, { factor: 0.1 }, [y]);
  expect(y.data[0]).toBe(Math.fround(0.1));
});

test.each([2.5, 2 ** 31, Number.NaN])('a window of %p is refused: it must be whole, in 32 bits', (window) => {
  const attributes = { scale: 1, causal: 1, window, softCap: 0, bf16: 0 };
  const spec = (shape: number[], dtype: 'f32' | 'i32' = 'f32') => ({ shape, dtype }) as const;
  const [q, kCache, vCache] = [spec([1, 1, 8]), spec([1, 4, 1, 8]), spec([1, 4, 1, 8])];
  const [cuSeqlens, kvLengths, blockTable] = [spec([2], 'i32'), spec([1], 'i32'), spec([1, 1], 'i32')];
  expect(() =>
    coreOps.attention.infer(
      { q, kCache, vCache, cuSeqlens, kvLengths, blockTable, sinks: undefined },
      attributes,
    ),
  ).toThrow(code('BAD_ARGUMENT', '[attention] window must be a whole number of 32 bits'));
});
