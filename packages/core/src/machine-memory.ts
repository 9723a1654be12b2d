import { readFileSync } from 'node:fs';
import { freemem, totalmem } from 'node:os';

/** Memory of the machine that this process may use, in bytes. */
export interface MachineMemory {
  /** Memory of the machine, or the limit of a control group. */
  readonly total: number;
  /** Memory available now without swapping or the OOM killer. */
  readonly available: number;
}

/** Files of a control group: version 2, and version 1, where `controller` has its own folders. */
const versions = [
  {
    controller: '',
    limits: ['memory.max', 'memory.high'], // above memory.high the kernel slows the group down to a stop
    used: 'memory.current',
    reclaimable: 'inactive_file',
  },
  {
    controller: 'memory',
    limits: ['memory.limit_in_bytes'],
    used: 'memory.usage_in_bytes',
    reclaimable: 'total_inactive_file',
  },
] as const;

/** Version 1 writes "no limit" as a number near 2^63. */
const noLimit = 2 ** 60;

/**
 * `freeMemory` of a driver that computes in the machine's memory: the minimum of the system's available memory and the
 * rest of each control group around this process. Node's `os.freemem` ignores groups. `process.availableMemory` sees
 * only the innermost group, without `memory.high`, and counts cached files as used.
 * @param system replaces the root of the file system, for tests
 */
export function machineMemory(system = ''): MachineMemory {
  let [total, available] = [totalmem(), freemem()];
  for (const version of versions)
    for (const folder of groupFolders(system, version.controller)) {
      const used = numberIn(`${folder}/${version.used}`, 0) - reclaimable(folder, version.reclaimable);
      for (const limit of version.limits) {
        const allowed = numberIn(`${folder}/${limit}`, noLimit);
        if (allowed >= noLimit) continue;
        total = Math.min(total, allowed);
        available = Math.min(available, Math.max(0, allowed - Math.max(0, used)));
      }
    }
  return { total, available };
}

/**
 * Folders of this process's group, from its own up to the root. A folder hidden by the container counts as no limit.
 */
function groupFolders(system: string, controller: string): string[] {
  const lines = textOf(`${system}/proc/self/cgroup`).split('\n');
  const path = lines
    .map((line) => /^\d+:([^:]*):(.*)$/.exec(line))
    .find((line) => isOf(line, controller))?.[2];
  if (path === undefined) return [];
  const root = `${system}/sys/fs/cgroup${controller && `/${controller}`}`;
  const names = path.split('/').filter(Boolean);
  return names.map((_, i) => [root, ...names.slice(0, names.length - i)].join('/')).concat(root);
}

const isOf = (line: RegExpExecArray | null, controller: string) =>
  line !== null && line[1]!.split(',').includes(controller);

const reclaimable = (folder: string, key: string): number =>
  Number(new RegExp(`^${key} (\\d+)$`, 'm').exec(textOf(`${folder}/memory.stat`))?.[1] ?? 0);

/** The number in a file; `otherwise` if the file is absent or says "max". */
function numberIn(file: string, otherwise: number): number {
  const text = textOf(file).trim();
  return /^\d+$/.test(text) ? Number(text) : otherwise;
}

/** Empty if the file cannot be read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
