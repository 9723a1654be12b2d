import type { DeviceProfile, DeviceReport } from '@quern/runtime';
import { showArchitectures, showDevice } from '../src/commands/devices.js';

type WorkingDevice = Extract<DeviceReport, { readonly backend: string }>;

const h100: DeviceProfile = {
  kind: 'gpu',
  name: 'NVIDIA H100',
  isa: 'sm_90',
  threads: 132,
  totalMemory: 80e9,
  readBandwidth: 3e12,
  flops: 130e12,
  links: { hostToDevice: 50e9, deviceToHost: 49e9 },
};

/** The lines of a report of a GPU. */
function shown(profile: DeviceProfile, rest: Partial<WorkingDevice>): string[] {
  const report: WorkingDevice = {
    package: '@quern/backend-cuda',
    backend: 'cuda:0',
    profile,
    freeMemory: 70e9,
    filled: {},
    capabilities: ['graph'],
    ...rest,
  };
  return showDevice(report).split('\n');
}

test('an emulated GPU: small numbers keep their digits', () => {
  const profile = { ...h100, name: 'emulated GPU', threads: 1, totalMemory: 4e6 };
  const ceilings = { readBandwidth: 3.14e6, rates: { f32: 1.2e5, bf16: 0 } };
  expect(shown(profile, { ceilings, freeMemory: 3e6, capabilities: [] }).slice(1, 3)).toEqual([
    '  memory 0.0030 of 0.0040 GB free',
    '  measured: reads 0.0031 GB/s; 10⁹ operations/s: f32 0.00012, bf16 0.0',
  ]);
});

test('a GPU: copy bandwidth, the bf16 rate and the link; no rate of one thread', () => {
  const ceilings = { readBandwidth: 3e12, rates: { f32: 130e12, bf16: 400e12 } };
  expect(shown({ ...h100, driver: 'CUDA 13.0' }, { ceilings })).toEqual([
    'cuda:0 (@quern/backend-cuda): NVIDIA H100, sm_90, 132 multiprocessors, CUDA 13.0',
    '  memory 70.0 of 80.0 GB free',
    '  measured: reads 3000 GB/s; 10⁹ operations/s: f32 130000, bf16 400000',
    '  copies: 50.0 GB/s to the device, 49.0 GB/s from it',
    '  capabilities: graph',
  ]);
});

test('a GPU that nobody has measured: estimates, how to measure, and why that failed', () => {
  const links = { hostToDevice: 40e9, deviceToHost: 40e9 };
  const unmeasured = 'the rates could not be measured: the kernel add did not end';
  expect(shown({ ...h100, estimated: true, flops: 53e12, links }, { unmeasured }).slice(2)).toEqual([
    '  estimated: reads 3000 GB/s; 10⁹ operations/s: f32 53000 (--measure measures)',
    '  not measured: the rates could not be measured: the kernel add did not end',
    '  copies, estimated: 40.0 GB/s to the device, 40.0 GB/s from it',
    '  capabilities: graph',
  ]);
});

test('packages that bring architectures: their names in files, or why they do not load', () => {
  const known = { name: 'olmo2', kind: 'language', own: false, package: 'quern-olmo2' } as const;
  const names = { gguf: ['olmo2'], huggingFace: ['Olmo2ForCausalLM', 'olmo2'] };
  expect(showArchitectures({ package: 'quern-olmo2', architectures: [{ ...known, names }] })).toBe(
    'quern-olmo2: architecture olmo2 (olmo2, Olmo2ForCausalLM)',
  );
  expect(showArchitectures({ package: 'quern-bad', error: 'there is no index.js' })).toBe(
    'quern-bad: its architectures do not load: there is no index.js',
  );
});
