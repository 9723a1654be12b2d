import { homedir } from 'node:os';
import { showBytes } from '../terminal/bytes.js';
import { count } from '../terminal/count.js';
import type { BackendReport } from './backends.js';
import type { CacheReport } from './caches.js';
import type { CpuReport } from './cpu.js';
import type { Finding } from './finding.js';
import type { GpuReport } from './gpus.js';
import type { MemoryReport } from './memory.js';
import type { BinaryReport, ProbedBackend } from './probe-backends.js';
import type { DoctorReport } from './report.js';

/** A section: its title, and lines below it. */
const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];

const showFeatures = (features: CpuReport['features']): string =>
  features ? features.join(' ') || 'none of the features that the kernels use' : 'features unknown';

const showCpu = ({ model, logicalCores, usableCores, features }: CpuReport): string =>
  `${model}, ${usableCores} of ${count(logicalCores, 'core')}; ${showFeatures(features)}`;

const showMemory = ({ totalBytes, availableBytes, limitBytes, cpuQuota }: MemoryReport): string =>
  [
    `${showBytes(availableBytes)} of ${showBytes(totalBytes)} free`,
    `limit of the control group: ${limitBytes === undefined ? 'none' : showBytes(limitBytes)}`,
    ...(cpuQuota === undefined ? [] : [`CPU quota: ${count(cpuQuota, 'core')}`]),
  ].join('; ');

function showDevice(device: ProbedBackend): string {
  if ('error' in device) return device.error.split('\n').join('\n    ');
  const { backend, device: name, isa, threads, driver, totalMemory, freeMemory } = device;
  const what = [
    name,
    isa,
    count(threads, device.kind === 'gpu' ? 'multiprocessor' : 'thread'),
    ...(driver ? [driver] : []),
  ];
  return `${backend}: ${what.join(', ')}; ${showBytes(freeMemory)} of ${showBytes(totalMemory)} free`;
}

const showBinary = ({ reason, tried }: BinaryReport): string[] => [
  reason,
  ...tried.map(({ name, message }) => `  ${name} ${message}`),
];

const showBackend = ({ package: name, folder, binary, devices }: BackendReport): string[] => [
  `${name} (${folder})`,
  ...(binary ? showBinary(binary).map((line) => `  ${line}`) : []),
  ...devices
    .filter((device) => !('error' in device && binary && !binary.chosen))
    .map((device) => `  ${showDevice(device)}`),
];
function showGpus({ nvidiaCards, nvidiaDriver, nvidiaLibrary, metal }: GpuReport): string[] {
  if (metal) return ['Metal'];
  if (nvidiaCards === 0 && nvidiaDriver === undefined && nvidiaLibrary === undefined)
    return ['no driver found'];
  return [
    `NVIDIA: ${count(nvidiaCards, 'card')}, driver ${nvidiaDriver ?? 'not loaded'}, libcuda ${nvidiaLibrary ?? 'not found'}`,
  ];
}

function showCaches({ models, kernels, chatHistory }: CacheReport): string[] {
  const state =
    'error' in models
      ? models.error
      : `${models.path}: ${showBytes(models.bytes)}${models.freeBytes === undefined ? '' : `; ${showBytes(models.freeBytes)} free on its disk`}`;
  return [
    `models: ${state}`,
    `kernels and rates of GPUs: ${kernels.path}: ${showBytes(kernels.bytes)}`,
    ...(chatHistory ? [`messages of chats: ${chatHistory.path}: ${showBytes(chatHistory.bytes)}`] : []),
  ];
}

const showFindings = (findings: readonly Finding[]): string[] =>
  findings.flatMap(({ what, help }) => [what, `  → ${help}`]);

/** The report as text, to paste into a bug report: the home folder is '~'. */
export function showReport(report: DoctorReport): string {
  const { system, faults, notes } = report;
  const packages = report.packages.map(({ name, version }) => `${name} ${version}`);
  const lines = [
    `quern ${report.quern}, Node ${system.node}, ${system.platform}`,
    ...section('system', [[system.os, system.libc].filter((each) => each !== undefined).join(', ')]),
    ...section('cpu', [showCpu(report.cpu)]),
    ...section('memory', [showMemory(report.memory)]),
    ...section('packages', packages),
    ...section('backends', report.backends.flatMap(showBackend)),
    ...section('GPU drivers', showGpus(report.gpus)),
    ...section('caches', showCaches(report.caches)),
    ...section(
      'environment',
      Object.entries(report.environment).map(([name, value]) => `${name}=${value}`),
    ),
    ...section('notes', showFindings(notes)),
    ...(faults.length === 0 ? ['no faults found'] : section('faults', showFindings(faults))),
  ];
  return `${lines.join('\n').replaceAll(homedir(), '~')}\n`;
}
