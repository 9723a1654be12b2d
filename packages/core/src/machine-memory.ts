import { readFileSync } from 'node:fs';
import { freemem, totalmem } from 'node:os';

/** Memory of the machine that this process may use, in bytes. */
export interface MachineMemory {
  /** What the machine has, or a control group allows. */
  readonly total: number;
  /** What can be taken now without swapping or being killed. */
  readonly available: number;
}

/** Where a control group keeps its numbers: of version 2, and of version 1, whose `controller` has folders of its own. */
const versions = [
  {
    controller: '',
    limits: ['memory.max', 'memory.high'], // above the second the group is slowed down until it stands still
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
 * Reads what a driver that computes in the machine's own memory gives as `freeMemory`: the least of what the system has and
 * of what each control group around this process leaves. Node's `os.freemem` knows no groups; `process.availableMemory`
 * knows the innermost, without its `memory.high`, and counts cached files as used.
 * @param system in place of the root of the file system, for tests
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

/** The folders of this process's group, from its own up to the root. Those that a container does not show read as no limit. */
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

/** The number of a file; `otherwise` where the file is absent or says "max". */
function numberIn(file: string, otherwise: number): number {
  const text = textOf(file).trim();
  return /^\d+$/.test(text) ? Number(text) : otherwise;
}

/** Empty where the file cannot be read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
