import { coreOps, type Driver, defineBackend, driverOf, type KernelDriver } from '@quern/core';
import { definitionDriver } from './definition-driver.js';

const refusal = (change: object): string => {
  try {
    defineBackend({ ...definitionDriver(), ...change } as Driver).dispose();
  } catch (error) {
    expect(error).toMatchObject({ name: 'BackendError', code: 'BAD_DRIVER' });
    return (error as Error).message;
  }
  return 'accepted';
};

const profile = (change: object) => ({ profile: { ...definitionDriver().profile, ...change } });
const memory = (change: object) => ({ memory: { ...definitionDriver().memory, ...change } });

const kernels = (more: object) => ({ kernels: { ...definitionDriver().kernels, ...more } });

/** A claim more in a part of the manifest. */
const claims = (part: 'ops' | 'fused' | 'collective', op: string) => {
  const { manifest } = definitionDriver();
  return { manifest: { ...manifest, [part]: { ...manifest[part], [op]: { dtypes: ['f32'] } } } };
};

test.each<[string, object, RegExp]>([
  ['an empty name', { name: '' }, /driver '': name must be a string without spaces/],
  ['a name of two words', { name: 'my gpu' }, /name must be/],
  ['no name', { name: undefined }, /driver undefined: name must be/],
  ['no profile', { profile: undefined }, /it has no profile/],
  ['an unknown kind', profile({ kind: 'tpu' }), /profile\.kind must be 'cpu', 'gpu' or .*; got 'tpu'/],
  ['a NaN', profile({ flops: Number.NaN }), /profile\.flops must be a finite number above 0; got NaN/],
  ['a rate of prompts of 0', profile({ promptFlops: 0 }), /profile\.promptFlops must .*, or absent; got 0/],
  [
    'another precision',
    profile({ precision: 'best' }),
    /profile\.precision must be 'fast', 'standard', 'exact', or absent; got 'best'/,
  ],
  ['no bandwidth', profile({ readBandwidth: 0 }), /profile\.readBandwidth must .*; got 0/],
  ['endless memory', profile({ totalMemory: Number.POSITIVE_INFINITY }), /totalMemory must .*; got Infinity/],
  ['half a thread', profile({ threads: 1.5 }), /profile\.threads must be a whole number above 0; got 1\.5/],
  ['no plan in flight', profile({ plansInFlight: 0 }), /profile\.plansInFlight must be .*; got 0/],
  ['kernels in flight', profile({ plansInFlight: 2 }), /plansInFlight must be 1: kernels run one by one/],
  ['an abort of its own', profile({ abort: 'never' }), /profile\.abort must be 'op', .*; got 'never'/],
  ['no device', profile({ name: ' ' }), /profile\.name must be a string that is not empty/],
  ['no free', memory({ free: undefined }), /it has no function memory\.free/],
  ['no freeWeight', { freeWeight: undefined }, /it has no function freeWeight/],
  ['no memory', { memory: undefined }, /it has no function memory\.allocate/],
  ['an executor without execute', { executor: {} }, /it has no function executor\.execute/],
  ['no manifest', { manifest: undefined }, /it has no manifest/],
  [
    'an unknown capability',
    { capabilities: { warp: true } },
    /it declares an unknown capability 'warp': known are pagedKv,/,
  ],
  [
    'an undefined capability',
    { capabilities: { collective: true } },
    /collective must be \{worldSize, rank\}/,
  ],
  [
    'a flag that is not true or false',
    { capabilities: { timer: 'yes' } },
    /capabilities\.timer must be true or false; got 'yes'/,
  ],
  [
    'no block sizes',
    { capabilities: { pagedKv: { blockSizes: [] } } },
    /pagedKv must be \{blockSizes: \[…\]\}/,
  ],
  ['a block of no tokens', { capabilities: { pagedKv: { blockSizes: [16, 0] } } }, /pagedKv must be/],
  ['a flag for a list', { capabilities: { pagedKv: true } }, /capabilities\.pagedKv must .*; got true/],
  [
    'caches of an unknown dtype',
    { capabilities: { kvQuant: { dtypes: ['i4'] } } },
    /'bf16', 'int8' and 'fp8'/,
  ],
  ['a capability misspelt', { capabilities: { pagedKV: {} } }, /'pagedKV': did you mean 'pagedKv'\?/],
  ['a capability of every object', { capabilities: { toString: true } }, /unknown capability 'toString'/],
  ['a kernel misspelt', kernels({ silo() {} }), /kernels has an unknown op 'silo': did you mean 'silu'\?/],
  ['a kernel of no op', kernels({ transmogrify() {} }), /op 'transmogrify': known are embed, .*allGather/],
  ['a kernel of a name of every object', kernels({ toString() {} }), /unknown op 'toString'/],
  [
    'a fused op misspelt',
    claims('fused', 'addRmsNrm'),
    /fused has .*'addRmsNrm': did you mean 'addRmsNorm'\?/,
  ],
  ['a core op as a fused op', claims('fused', 'silu'), /manifest\.fused has an unknown op 'silu'/],
  ['a claim misspelt', claims('ops', 'swigluu'), /manifest\.ops has .*'swigluu': did you mean 'swiglu'\?/],
  [
    'a collective op misspelt',
    claims('collective', 'allReduc'),
    /did you mean 'allReduce'\? \(an op of a later/,
  ],
  ['a function misspelt', { kernelRun: () => ({}) }, /it has 'kernelRun', which core .*'kernelRuns'\?$/],
  [
    'capabilities misspelt',
    { capabilities: undefined, capability: { timer: true } },
    /'capability', .* mean 'capabilities'\?$/,
  ],
  ['caches misspelt', { KV: {} }, /did you mean 'kv'\?$/],
  ['a rate misspelt', profile({ promptFlop: 1e9 }), /profile has 'promptFlop', .* mean 'promptFlops'\?$/],
  [
    'fused claims misspelt',
    { manifest: { ...definitionDriver().manifest, fused: undefined, fusd: {} } },
    /manifest has 'fusd', .* mean 'fused'\?$/,
  ],
  [
    "an executor's function misspelt",
    { executor: { execute() {}, captur() {} } },
    /executor has 'captur', .* mean 'capture'\?$/,
  ],
  ['GPTQ of three bits', { capabilities: { quantGptq: { bits: [3] } } }, /a list of 4 and 8/],
])('a driver with %s is refused', (_name, change, message) => {
  expect(refusal(change)).toMatch(message);
});

test('a driver for several versions of core adds a later op only where the op table has it', () => {
  const hyperbolic = () => {};
  const later = 'hyperbolic' in coreOps && { hyperbolic };
  const known = 'silu' in coreOps && { silu: definitionDriver().kernels.silu };
  expect(refusal(kernels({ ...later, ...known }))).toBe('accepted');
  expect(refusal(kernels({ hyperbolic: undefined }))).toBe('accepted');
});

test('members of its own are the driver’s, and so are those beside the optional ones', () => {
  const own = { kvs: new Map(), k: {}, contracts: [], measure() {}, memories: [] };
  expect(refusal({ ...own, kernelRuns: () => ({}), kernelRun: () => 0 })).toBe('accepted');
});

test('a function of its class may be misspelt, too', () => {
  const driver = Object.assign(Object.create({ loadGPTQs() {} }), definitionDriver());
  expect(() => defineBackend(driver)).toThrow(/it has 'loadGPTQs', .* did you mean 'loadGptq'\?$/);
});

test('a value that is no driver is refused', () => {
  for (const none of [undefined, null, 'cpu'])
    expect(() => defineBackend(none as never)).toThrow(/a driver must be an object; got/);
});

test('a capability that is undefined is absent', () => {
  expect(refusal({ capabilities: { pagedKv: undefined } })).toBe('accepted');
});

test('driverOf gives tools the driver of a backend, and only for backends of this copy', () => {
  const driver: KernelDriver = definitionDriver();
  const backend = defineBackend(driver);
  expect(driverOf(backend)).toBe(driver);
  expect(driverOf({ ...backend })).toBeUndefined();
});
