// Native addons make their typed arrays and errors in Node's main realm; a test
// that asks `instanceof Float32Array` or `toThrow(RangeError)` needs the same ones.
import { createRequire } from 'node:module';

const require = createRequire(createRequire(import.meta.url).resolve('jest/package.json'));
const { TestEnvironment } = createRequire(require.resolve('jest-cli'))('jest-environment-node');
const shared = [
  'Error',
  'TypeError',
  'RangeError',
  'AggregateError',
  'ArrayBuffer',
  'SharedArrayBuffer',
  'DataView',
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
];

/** Where jest-circus looks for the time of a test; `testTimeout` of a project is not read. */
const timeout = Symbol.for('TEST_TIMEOUT_SYMBOL');

/** Sets or removes a variable that native code sees: a test's process.env is a copy. */
function setNativeEnvironment(name, value) {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

export default class extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    for (const name of shared) this.global[name] = globalThis[name];
    this.global[timeout] = 120_000; // ms; busy machines are slow
    this.global.setNativeEnvironment = setNativeEnvironment;
  }

  // A note on a skipped part is one line: Jest's own form, with a stack and a piece of source, looks like a failure.
  async setup() {
    await super.setup();
    this.global.console.warn = (...texts) => process.stderr.write(`note: ${texts.join(' ')}\n`);
  }
}
