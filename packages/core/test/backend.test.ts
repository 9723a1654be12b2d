import {
  type Backend,
  capabilityNames,
  contiguousKvCache,
  coreOps,
  type Driver,
  defineBackend,
  has,
  need,
  recordOp,
  type Step,
} from '../src/index.js';
import { definitionDriver, type Ledger } from './definition-driver.js';

const code = (wanted: string, message = '') =>
  expect.objectContaining({ code: wanted, message: expect.stringContaining(message) });

function open() {
  const ledger: Ledger = { buffers: 0, weights: 0, disposals: 0 };
  const backend = defineBackend(definitionDriver(ledger));
  return { ledger, backend };
}

const loadWeight = (backend: Backend, shape: readonly number[]) =>
  backend.loadWeight({
    name: 'w',
    shape,
    format: 'f32',
    bytes: new Uint8Array(4 * shape.reduce((a, b) => a * b, 1)),
  });

async function recordLinear(backend: Backend, step: Step = backend.step()) {
  const weight = await loadWeight(backend, [2, 2]);
  const y = backend.linear(step.input(Float32Array.of(1, 2), [1, 2]), weight);
  return { step, weight, y };
}

test('a timed step can be read', async () => {
  const { backend } = open();
  need(backend, 'timer');
  const step = backend.step();
  const y = backend.add(step.input(Float32Array.of(1, 2)), step.input(Float32Array.of(3, 4)));
  expect(await backend.timer.run(step)).toEqual([
    { op: 'add', name: 'add', milliseconds: expect.any(Number) },
  ]);
  expect(await step.read(y)).toEqual(Float32Array.of(4, 6));
});

describe('all memory of a step is freed', () => {
  test('after a run', async () => {
    const { ledger, backend } = open();
    const { step, weight } = await recordLinear(backend);
    await step.run();
    expect(ledger).toMatchObject({ buffers: 0, weights: 1 });
    weight.dispose();
    expect(ledger.weights).toBe(0);
  });

  test('after an abort, a refusal and a failure', async () => {
    const { ledger, backend } = open();
    const { step } = await recordLinear(backend);
    await expect(step.run({ signal: AbortSignal.abort() })).rejects.toEqual(code('ABORTED'));
    const bad = backend.step();
    backend.embed(await loadWeight(backend, [2, 2]), bad.input(Int32Array.of(5)));
    await expect(bad.run()).rejects.toEqual(code('OUT_OF_RANGE'));
    expect(ledger.buffers).toBe(0);
  });

  test('when a graph ends, by itself or with its weight', async () => {
    const { ledger, backend } = open();
    need(backend, 'graph');
    const [a, b] = [await recordLinear(backend), await recordLinear(backend)];
    const [first, second] = [await backend.graph.capture(a.step), await backend.graph.capture(b.step)];
    await first.replay();
    expect(ledger.buffers).toBe(6);
    first.dispose();
    expect(ledger.buffers).toBe(3);
    b.weight.dispose();
    expect(second.disposed).toBe(true);
    expect(ledger.buffers).toBe(0);
  });

  test('when a cache is disposed', () => {
    const { ledger, backend } = open();
    const options = { layers: 3, kvHeads: 1, headDim: 4, dtype: 'f32', context: 8 } as const;
    const cache = contiguousKvCache(backend, { ...options, sequences: 2 });
    expect(ledger.buffers).toBe(6);
    cache.dispose();
    cache.dispose();
    expect(ledger.buffers).toBe(0);
  });
});

test.each(['inputs', 'outputs'])('a captured step after a transfer of its %s', async (region) => {
  const { backend } = open();
  need(backend, 'graph');
  const step = backend.step();
  const x = step.input(Float32Array.of(1, 2));
  const y = backend.add(x, x);
  const graph = await backend.graph.capture(step);
  await graph.replay();
  expect(graph.read(y)).toEqual(Float32Array.of(2, 4));
  const { buffer } = graph.read(region === 'inputs' ? x : y);
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
  await expect(graph.replay()).rejects.toEqual(code('BAD_ARGUMENT', region));
  if (region === 'inputs')
    expect(() => graph.write(x, Float32Array.of(3, 4))).toThrow(code('BAD_ARGUMENT', 'inputs'));
  else expect(() => graph.read(y)).toThrow(code('BAD_ARGUMENT', 'outputs'));
  graph.dispose();
});

test('a weight is freed between steps, even if steps never stop', async () => {
  const { ledger, backend } = open();
  const { step, weight } = await recordLinear(backend);
  const another = () => {
    const next = backend.step();
    backend.silu(next.input(Float32Array.of(1)));
    return next.run();
  };
  const first = step.run();
  weight.dispose();
  expect(ledger.weights).toBe(1);
  let running = another();
  await first;
  for (let i = 0; i < 3; i++) {
    const next = another(); // requested before the previous step has ended
    await running;
    running = next;
  }
  expect(ledger.weights).toBe(0);
  await running;
});

test('the driver is disposed once, when nothing runs', async () => {
  const { ledger, backend } = open();
  const { step } = await recordLinear(backend);
  const running = step.run().catch((error) => error.code);
  backend.dispose();
  backend.dispose();
  expect(ledger.disposals).toBe(0);
  expect(await running).toBeUndefined();
  expect(ledger.disposals).toBe(1);
});

test('a step disposed during its preparation runs, and cannot be read', async () => {
  const { ledger, backend } = open();
  const { step, y } = await recordLinear(backend);
  const running = step.run();
  step.dispose();
  await running;
  expect(ledger.buffers).toBe(0);
  await expect(step.read(y)).rejects.toEqual(code('DISPOSED'));
});

test('a weight still loading when the backend is disposed is refused', async () => {
  const { backend } = open();
  const loading = loadWeight(backend, [2, 2]);
  backend.dispose();
  await expect(loading).rejects.toEqual(code('DISPOSED', 'while'));
});

test('a step of another backend with the same name is refused', async () => {
  const [a, b] = [open().backend, open().backend];
  need(a, 'graph', 'timer');
  const { step } = await recordLinear(b);
  await expect(a.graph.capture(step)).rejects.toEqual(code('WRONG_STEP'));
  await expect(a.timer.run(step)).rejects.toEqual(code('WRONG_STEP'));
});

test('an op can be recorded by its table entry', async () => {
  const { backend } = open();
  const step = backend.step();
  const [y] = recordOp(step, coreOps.scale, { x: step.input(Float32Array.of(1, 2)) }, { factor: 3 });
  expect(await step.read(y!)).toEqual(Float32Array.of(3, 6));
});

test('fused ops can be chosen', async () => {
  const record = async (fuse: boolean | readonly ('linearArgmax' | 'addRmsNorm')[]) => {
    const backend = defineBackend(definitionDriver(), { fuse });
    const { step, y } = await recordLinear(backend);
    backend.argmax(y);
    await step.run();
    return backend.kernelRuns();
  };
  expect(await record(true)).toEqual({ linearArgmax: 1 });
  expect(await record(['linearArgmax'])).toEqual({ linearArgmax: 1 });
  expect(await record(['addRmsNorm'])).toEqual({ linear: 1, argmax: 1 });
  expect(await record(false)).toEqual({ linear: 1, argmax: 1 });
});

describe('a driver that breaks its contract is refused', () => {
  const right = definitionDriver();
  const { linear, ...holed } = right.manifest.ops;
  const { kernels, ...whole } = right;
  const { add: _, ...withoutAdd } = kernels;
  const ops = right.manifest.ops;
  const claiming = (changed: object) => ({ ...right, manifest: { ops: { ...ops, ...changed } } }) as Driver;
  const altered: Readonly<Record<string, [Driver, string]>> = {
    'a hole': [{ ...right, manifest: { ops: holed as typeof ops } }, "no entry for the core op 'linear'"],
    'no f16 weights': [
      claiming({ linear: { ...linear, weightFormats: ['f32'] } }),
      "'linear' must support f16 weights",
    ],
    'no f32': [claiming({ add: { dtypes: ['f16'] } }), "'add' must support f32"],
    'no f16 cache': [
      claiming({ kvAppend: { dtypes: ['f32'], cacheDtypes: ['f32'] } }),
      "'kvAppend' must support f16 caches",
    ],
    'no exact row': [
      { ...right, profile: { ...right.profile, exactRows: 0 } },
      'profile.exactRows must be a whole number above 0, Infinity, or absent; got 0',
    ],
    'an unknown op': [claiming({ fly: linear }), "unknown op 'fly'"],
    'an unknown fused op': [
      { ...right, manifest: { ops, fused: { fly: linear } as object } },
      "manifest.fused has an unknown op 'fly'",
    ],
    'a claim without a kernel': [{ ...right, kernels: withoutAdd as typeof kernels }, "claims 'add'"],
    'neither kernels nor executor': [whole as Driver, 'neither kernels nor an executor'],
    'caches that its ops do not support': [
      { ...right, capabilities: { kvQuant: { dtypes: ['int8'] } } },
      "declares int8 caches, but 'attention' does not support i8",
    ],
    'graph without capture': [
      { ...whole, executor: { execute: async () => {} }, capabilities: { graph: true } },
      'has no capture',
    ],
    'quantGptq without loadGptq': [
      { ...right, capabilities: { quantGptq: { bits: [4] } } },
      "declares 'quantGptq', but has no loadGptq",
    ],
  };
  test.each(Object.entries(altered))('%s', (_name, [driver, message]) => {
    expect(() => defineBackend(driver)).toThrow(code('BAD_DRIVER', message));
  });
});

test('a driver from before sinks claims no weights for attention; with sinks it must', () => {
  const driver = definitionDriver();
  const claiming = (more: object) => {
    const attention = { dtypes: ['f32'], cacheDtypes: ['f32', 'f16'], ...more } as const;
    return defineBackend({ ...driver, manifest: { ops: { ...driver.manifest.ops, attention } } });
  };
  expect(claiming({}).disposed).toBe(false);
  expect(() => claiming({ takes: ['sinks'] })).toThrow(
    code('BAD_DRIVER', "'attention' must support f32 weights"),
  );
});

test('a capability is present or absent', () => {
  const { backend } = open();
  expect(capabilityNames.filter((name) => has(backend, name))).toEqual(['pagedKv', 'graph', 'timer']);
  expect(() => need(backend, 'graph', 'collective', 'kvQuant')).toThrow(
    code('UNSUPPORTED', 'lacks collective, kvQuant; it has pagedKv, graph, timer'),
  );
});

test('stray writes are found', async () => {
  const driver = definitionDriver();
  const add = driver.kernels.add;
  const stray: Driver = {
    ...driver,
    kernels: {
      ...driver.kernels,
      async add(operands, attributes, outputs) {
        await add(operands, attributes, outputs);
        const { buffer, byteOffset } = outputs[0]!;
        await driver.memory.write(buffer, byteOffset + 8, Uint8Array.of(1));
      },
    },
  };
  const run = (guard: number) => {
    const backend = defineBackend(stray, { guard });
    const step = backend.step();
    backend.add(step.input(Float32Array.of(1, 2)), step.input(Float32Array.of(3, 4)));
    return step.run();
  };
  await expect(run(64)).rejects.toEqual(code('BAD_DRIVER', '[add] wrote outside its outputs'));
  await expect(run(0)).resolves.toBeUndefined();
});

test('a plan too large for the host is OUT_OF_MEMORY, and its memory is freed', async () => {
  const { ledger, backend } = open();
  const step = backend.step();
  const rows = () => step.input(new Int32Array(2 ** 12));
  let x = step.input(new Float32Array(2 ** 8), [1, 2 ** 8]);
  for (const shape of [
    [1, 2 ** 20],
    [4, 2 ** 30],
    [2 ** 12, 2 ** 30],
  ])
    x = backend.view(backend.gatherRows(x, rows()), shape);
  await expect(step.run()).rejects.toEqual(code('OUT_OF_MEMORY', 'bytes of host memory'));
  expect(ledger.buffers).toBe(0);
});
