// Memory of the emulated GPU: what a model takes is known before, and what other processes take counts.
import '../../../backend-cuda/test/emulated.js';
import { type CudaOptions, createBackend } from '@quern/backend-cuda';
import type { Backend } from '@quern/core';
import { demoModelPath } from '@quern/demo-model';
import { type LoadOptions, loadModel, type Progress } from '../../src/index.js';

/** Of jest.environment.mjs. */
declare function setNativeEnvironment(name: string, value: string | undefined): void;

/** Another process takes `megabytes` of 4096. */
const take = (megabytes: number) => setNativeEnvironment('QUERN_EMULATED_TAKEN', String(megabytes));
afterEach(() => setNativeEnvironment('QUERN_EMULATED_TAKEN', undefined));

async function withBackend(act: (backend: Backend) => Promise<void>, options: CudaOptions = {}) {
  using backend = await createBackend(options);
  await act(backend);
}

const load = (backend: Backend, options: LoadOptions = {}) =>
  loadModel(demoModelPath, { backend, context: 256, ...options });

test.each<[string, number, number, RegExp]>([
  [
    'weights',
    4095,
    256,
    /the model is too large: \d.* of weights and \d.* of activations .* the \d.* free on 'cuda:0'/,
  ],
  ['cache', 4060, 1_000_000, /a context of 1000000 takes \d.* 'cuda:0' has \d.* free: the largest .* is \d+/],
])('too little memory for the %s is refused before loading, with numbers', (_, taken, context, message) =>
  withBackend(async (backend) => {
    take(taken);
    const phases: string[] = [];
    const loading = load(backend, { context, onProgress: ({ phase }) => phases.push(phase) });
    await expect(loading).rejects.toMatchObject({
      code: expect.stringMatching(/^(MODEL|CONTEXT)_TOO_LARGE$/),
      message: expect.stringMatching(message),
    });
    expect(phases).not.toContain('weights');
  }),
);

const moments: readonly [string, (progress: Progress) => boolean, RegExp][] = [
  ['before the cache', ({ phase, done }) => phase === 'backend' && done === 1, /asked for/],
  ['before the weights', ({ phase }) => phase === 'weights', /^weight '.*asked for/],
];
test.each(moments)('memory that another process takes after planning, %s', (_, isNow, message) =>
  withBackend(async (backend) => {
    const before = backend.freeMemory();
    const onProgress = (progress: Progress) => isNow(progress) && take(4096);
    const error = await load(backend, { onProgress }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'OUT_OF_MEMORY' });
    expect(error.message).toMatch(message);
    expect(error.message).toMatch(
      / \(\d+ bytes\), but cuda:0 \(emulated GPU\) has 0 bytes free; nvidia-smi shows which processes have the rest$/,
    );
    take(0);
    expect(backend.freeMemory()).toBe(before);
  }),
);

test('a steady state allocates nothing', () =>
  withBackend(async (backend) => {
    using model = await load(backend);
    const options = { maxTokens: 48, temperature: 0.8, seed: 1 };
    const generation = model.generate('Once upon a time', options);
    let tokens = 0;
    for await (const _ of generation) if (++tokens === 8) take(4096); // each allocation fails from now on
    expect(tokens).toBe(48);
  }));
