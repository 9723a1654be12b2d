import {
  type ArchitectureReport,
  type DescribeDevicesOptions,
  type DeviceLinks,
  type DeviceProfile,
  type DeviceReport,
  describeDevices,
  loadArchitectures,
} from '@quern/runtime';
import { Command } from 'commander';
import { precisionOption, threadsOption } from '../options.js';
import { showCeilings } from '../terminal/ceilings.js';
import { count } from '../terminal/count.js';
import { giga } from '../terminal/figure.js';
import { write, writeJson } from '../terminal/write.js';

const showLinks = ({ hostToDevice, deviceToHost }: DeviceLinks): string =>
  `${giga(hostToDevice)} GB/s to the device, ${giga(deviceToHost)} GB/s from it`;

const fillings = { host: 'computed by the host', decomposed: 'computed as older ops' } as const;

const showThreads = ({ kind, threads }: DeviceProfile): string =>
  count(threads, kind === 'gpu' ? 'multiprocessor' : 'thread');

/** "AMD EPYC, avx512, 2 threads, precision standard" */
const showProfile = (profile: DeviceProfile): string =>
  [
    profile.name,
    profile.isa,
    showThreads(profile),
    ...(profile.driver ? [profile.driver] : []),
    ...(profile.precision ? [`precision ${profile.precision}`] : []),
  ].join(', ');

const showRates = ({ estimated, readBandwidth, flops }: DeviceProfile): string => {
  const rates = `reads ${giga(readBandwidth)} GB/s; 10⁹ operations/s: f32 ${giga(flops)}`;
  return estimated ? `estimated: ${rates} (--measure measures)` : `measured: ${rates}`;
};

/** One installed backend in a few lines. */
export function showDevice(device: DeviceReport): string {
  if ('error' in device) return `${device.package}: cannot be used: ${device.error}`;
  const { backend, profile, ceilings, unmeasured, freeMemory, capabilities, filled } = device;
  const estimated = profile.estimated ? ', estimated' : '';
  return [
    `${backend} (${device.package}): ${showProfile(profile)}`,
    `  memory ${giga(freeMemory)} of ${giga(profile.totalMemory)} GB free`,
    `  ${ceilings && !ceilings.estimated ? `measured: ${showCeilings(ceilings)}` : showRates(profile)}`,
    ...(unmeasured === undefined ? [] : [`  not measured: ${unmeasured}`]),
    ...(profile.links ? [`  copies${estimated}: ${showLinks(profile.links)}`] : []),
    `  capabilities: ${capabilities.join(', ') || 'none'}`,
    ...Object.entries(filled).map(([op, how]) => `  ${op}: ${fillings[how]}`),
  ].join('\n');
}

/** One package that brings architectures: 'quern-olmo2: architecture olmo2 (olmo2, Olmo2ForCausalLM)'. */
export function showArchitectures(report: ArchitectureReport): string {
  if ('error' in report) return `${report.package}: its architectures do not load: ${report.error}`;
  const each = report.architectures.map(({ name, names: { gguf, huggingFace } }) => {
    const known = [...new Set([...gguf, ...huggingFace])].join(', ');
    return `architecture ${name} (${known})`;
  });
  return `${report.package}: ${each.join(', ')}`;
}

interface DevicesFlags extends Pick<DescribeDevicesOptions, 'threads' | 'precision' | 'measure'> {
  readonly json?: boolean;
}

async function devices({ json, ...options }: DevicesFlags): Promise<void> {
  const found = await describeDevices(options);
  const architectures = await loadArchitectures();
  if (json) return writeJson({ devices: found, architectures });
  if (found.length === 0) await write('no backend is installed; npm install @quern/backend-cpu brings one\n');
  for (const device of found) await write(`${showDevice(device)}\n`);
  for (const each of architectures) await write(`${showArchitectures(each)}\n`);
}

export const devicesCommand = (): Command =>
  new Command('devices')
    .description(
      'list the installed backends with their measurements of this machine, and the packages that bring architectures',
    )
    .addOption(threadsOption())
    .addOption(precisionOption())
    .option('--measure', 'measure each device again, a GPU in a process of its own, and keep its rates')
    .option('--json', 'print {"devices": […], "architectures": […]}')
    .action(devices);
