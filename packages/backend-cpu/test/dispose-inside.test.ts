// Arguments whose getters and conversions call `dispose`, and methods called on other objects.
import type { Addon, NativeBackend } from '@quern/native-runtime';
import { loadCpuAddon } from '../src/load.js';

const makeError = (code: string, message: string) => Object.assign(new Error(message), { code });
const { NativeBackend: Native } = loadCpuAddon();
const create = (make: typeof makeError = makeError): NativeBackend => new Native({ threads: 1 }, make);

/** Casts a value of any type, for arguments that TypeScript refuses. */
const any = <T>(value: unknown): T => value as T;

test.each<[string, (backend: NativeBackend, end: () => string) => unknown]>([
  [
    'a getter of a slice',
    (backend, end) =>
      backend.loadWeight('w', [4], 'f32', [
        [
          any({
            offset: 0,
            byteLength: 16,
            get path() {
              return end();
            },
          }),
        ],
      ]),
  ],
  [
    'a getter of a part',
    (backend, end) => {
      const part = { path: 'nowhere', offset: 0, byteLength: 16 };
      const last = Object.defineProperty({ ...part }, 'path', { get: end });
      return backend.loadGptq('w', 8, 8, 4, 8, 1, [part, part, any(last)]);
    },
  ],
  [
    'a getter of a list of parts',
    (backend, end) => {
      const parts = Object.defineProperty([[0, 1, 0, 4]], 0, { get: () => [0, end().length, 0, 4] });
      return backend.loadWeight('w', [4, 4], 'f32', any(parts));
    },
  ],
  [
    'a getter of a shape',
    (backend, end) =>
      backend.loadWeight('w', Object.defineProperty([4], 0, { get: () => end().length }), 'f32', [[0]]),
  ],
])('%s disposes of the backend', (_, call) => {
  const backend = create();
  const end = () => {
    backend.dispose();
    return 'nowhere';
  };
  expect(() => call(backend, end)).toThrow(expect.objectContaining({ code: 'DISPOSED' }));
});

test.each<[string, (backend: NativeBackend, value: unknown) => unknown]>([
  ['free', (backend, value) => backend.free(any(value))],
  ['allocate', (backend, value) => backend.allocate(any(value))],
  ['replay', (backend, value) => backend.replay(any(value))],
])('%s calls no toString', (_, call) => {
  const backend = create();
  const dispose = () => {
    backend.dispose();
    return '1';
  };
  const value = { toString: dispose, valueOf: dispose };
  expect(() => call(backend, value)).toThrow(
    expect.objectContaining({ code: 'BAD_ARGUMENT', message: expect.stringContaining('an object') }),
  );
  expect(backend.freeMemory()).toBeGreaterThan(0);
  backend.dispose();
});

test('an exception of a getter is rethrown unchanged', () => {
  const backend = create();
  const thrown = new RangeError('of its own');
  const slice = Object.defineProperty({ offset: 0, byteLength: 16 }, 'path', {
    get() {
      throw thrown;
    },
  });
  expect(() => backend.loadWeight('w', [4], 'f32', [[any(slice)]])).toThrow(thrown);
  backend.dispose();
});

test('makeError disposes of the backend', async () => {
  const holder: { backend?: NativeBackend } = {};
  const backend = create((code, message) => {
    holder.backend?.dispose();
    return makeError(code, message);
  });
  holder.backend = backend;
  const bad = { path: '/nowhere', offset: 0, byteLength: 16 };
  const loads = Array.from({ length: 5 }, () => backend.loadWeight('w', [4], 'f32', [[bad]]));
  const codes = (await Promise.allSettled(loads)).map((outcome) =>
    outcome.status === 'rejected' ? outcome.reason.code : 'loaded',
  );
  expect(codes[0]).toBe('BAD_WEIGHT');
  for (const code of codes) expect(['BAD_WEIGHT', 'ABORTED']).toContain(code);
});

test('a method called on another object', () => {
  const { freeMemory } = create();
  for (const other of [{}, Object.create(Native.prototype), new Map()])
    expect(() => freeMemory.call(any<Addon>(other))).toThrow(TypeError);
});
