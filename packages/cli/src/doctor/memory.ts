import { freemem, totalmem } from 'node:os';
import { type Findings, noFindings } from './finding.js';
import { textAt } from './read-text.js';

export interface MemoryReport {
  readonly totalBytes: number;
  /** Free, or used only by the page cache. */
  readonly availableBytes: number;
  /** Least memory limit of the control groups; absent: there is none. */
  readonly limitBytes?: number;
  /** Least CPU quota of the control groups, in cores; absent: there is none. */
  readonly cpuQuota?: number;
}

/** Folders of the process's control group: of version 2 (no controller) or of a controller of version 1, up to the root. */
function* groups(root: string, controller: string): Generator<string> {
  const lines = (textAt(`${root}/proc/self/cgroup`) ?? '').split('\n').map((line) => line.split(':'));
  const found = lines.find(([, names = ' ']) =>
    controller === '' ? names === '' : names.split(',').includes(controller),
  );
  if (!found) return;
  const base = `${root}/sys/fs/cgroup${controller === '' ? '' : `/${controller}`}`;
  const parts = found
    .slice(2)
    .join(':')
    .split('/')
    .filter((part) => part !== '');
  for (let length = parts.length; length >= 0; length--) yield [base, ...parts.slice(0, length)].join('/');
}

/** The numbers of a file; NaN for 'max'. */
const numbersAt = (path: string): number[] => (textAt(path) ?? '').trim().split(/\s+/).map(Number.parseFloat);

const least = (values: Iterable<number | undefined>): number | undefined => {
  const all = [...values].filter((value) => value !== undefined && value > 0 && value < 2 ** 60) as number[];
  return all.length === 0 ? undefined : Math.min(...all); // version 1 writes "no limit" as a number near 2^63
};

function* memoryLimits(root: string): Generator<number | undefined> {
  for (const group of groups(root, '')) {
    yield numbersAt(`${group}/memory.max`)[0];
    yield numbersAt(`${group}/memory.high`)[0];
  }
  for (const group of groups(root, 'memory')) yield numbersAt(`${group}/memory.limit_in_bytes`)[0];
}

function* cpuQuotas(root: string): Generator<number | undefined> {
  for (const group of groups(root, '')) {
    const [quota = 0, period = 0] = numbersAt(`${group}/cpu.max`);
    yield quota / period;
  }
  for (const group of groups(root, 'cpu'))
    yield numbersAt(`${group}/cpu.cfs_quota_us`)[0]! / numbersAt(`${group}/cpu.cfs_period_us`)[0]!;
}

/** @param root of the file system, for tests */
export function memoryReport(root = ''): MemoryReport {
  const kibibytes = /^MemAvailable:\s*(\d+) kB$/m.exec(textAt(`${root}/proc/meminfo`) ?? '')?.[1];
  const limitBytes = least(memoryLimits(root));
  const cpuQuota = least(cpuQuotas(root));
  return {
    totalBytes: totalmem(),
    availableBytes: kibibytes === undefined ? freemem() : Number(kibibytes) * 1024,
    ...(limitBytes !== undefined && { limitBytes }),
    ...(cpuQuota !== undefined && { cpuQuota }),
  };
}

/** The smallest models with instructions need about this much. */
const smallModel = 1e9;

export function memoryFindings({
  availableBytes,
  limitBytes = Number.POSITIVE_INFINITY,
}: MemoryReport): Findings {
  if (limitBytes < smallModel)
    return note(
      `the control group of this process allows ${(limitBytes / 1e9).toFixed(2)} GB of memory: too little for most models`,
      'docker run --memory 8g, or resources.limits.memory of the pod, raises the limit',
    );
  if (availableBytes < smallModel)
    return note(
      `${(availableBytes / 1e9).toFixed(2)} GB of memory are free: too little for most models`,
      'end other programs; quern inspect MODEL shows how much a model needs',
    );
  return noFindings;
}

const note = (what: string, help: string): Findings => ({ faults: [], notes: [{ what, help }] });
