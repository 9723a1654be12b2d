import { fork } from 'node:child_process';
import { probeProgram } from '../own-package.js';

/** A backend that works, or why one of a package does not. */
export type ProbedBackend =
  | {
      readonly package: string;
      readonly backend: string;
      readonly device: string;
      readonly kind: string;
      readonly isa: string;
      readonly threads: number;
      readonly precision?: string;
      readonly driver?: string;
      readonly totalMemory: number;
      readonly freeMemory: number;
    }
  | FailedProbe;

export interface FailedProbe {
  readonly package: string;
  readonly error: string;
  readonly code?: string;
  /** The machine has no device for the package. */
  readonly noDevice?: true;
  /** The package's module cannot be imported. */
  readonly unloaded?: true;
  /** Loading ended the process: a damaged binary, or a fault of a driver. */
  readonly crashed?: true;
}

/** Which binary a package takes, and why; of a package that exports `describeBinary` (@quern/native-runtime). */
export interface BinaryReport {
  /** Absent: none loads. */
  readonly chosen?: { readonly name: string; readonly file?: string | undefined };
  /** Why this binary, or why none. */
  readonly reason: string;
  readonly advice?: string | undefined;
  /** Better ones that do not load. */
  readonly tried: readonly {
    readonly name: string;
    readonly message: string;
    readonly advice?: string | undefined;
  }[];
}

/** What the process of probe.ts reports. */
export interface ProbeReport {
  readonly backends: readonly ProbedBackend[];
  /** By the names of packages. */
  readonly binaries: Readonly<Record<string, BinaryReport>>;
  /** The search for backends itself failed. */
  readonly error?: string;
}

/** How a probe ended without a report. */
interface Crash {
  readonly crash: string;
}

/** A driver may hang; a first start of a GPU takes seconds. */
const patienceMs = 120_000;

function runProbe(args: readonly string[]): Promise<ProbeReport | Crash> {
  return new Promise((resolve) => {
    const child = fork(probeProgram, [process.argv[1] ?? '', ...args], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: [],
    });
    let report: ProbeReport | undefined;
    let said = '';
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      child.kill('SIGKILL');
    }, patienceMs);
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2000);
    });
    child.on('message', (message) => {
      report = message as ProbeReport;
    });
    child.on('error', ({ message }) => resolve({ crash: message }));
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve(report ?? { crash: crashOf(late, code, signal, said) });
    });
  });
}

function crashOf(late: boolean, code: number | null, signal: string | null, said: string): string {
  if (late) return `did not answer within ${patienceMs / 1000} s`;
  const last = said.trim().split('\n').at(-1) ?? '';
  return `ended the process with ${signal ?? `status ${code}`}${last === '' ? '' : `: ${last}`}`;
}

/**
 * Loads the backends of this machine in a process of its own; where it dies, each package in one of its own.
 * @param packages their packages, to find the one at fault
 */
export async function probeBackends(packages: readonly string[]): Promise<ProbeReport> {
  const all = await runProbe([]);
  if (!('crash' in all)) return all;
  const each = await Promise.all(packages.map(probeOne));
  return {
    backends: each.flatMap(({ backends }) => backends),
    binaries: Object.assign({}, ...each.map(({ binaries }) => binaries)),
  };
}

async function probeOne(name: string): Promise<ProbeReport> {
  const report = await runProbe([name]);
  if ('crash' in report)
    return {
      backends: [{ package: name, error: `loading it ${report.crash}`, crashed: true }],
      binaries: {},
    };
  const { error } = report;
  return error === undefined ? report : { ...report, backends: [{ package: name, error }] };
}
