import { availableParallelism, cpus } from 'node:os';
import { type Findings, noFindings } from './finding.js';
import { textAt } from './read-text.js';

export interface CpuReport {
  readonly model: string;
  readonly logicalCores: number;
  /** Cores that this process may use. */
  readonly usableCores: number;
  /** Features that the kernels use, as the kernel of Linux names them; absent where the system has no such list. */
  readonly features?: readonly string[];
}

/** Instructions of the kernels, by architecture. */
const asked: Readonly<Record<string, readonly string[]>> = {
  x64: [
    'avx',
    'avx2',
    'fma',
    'f16c',
    'avx_vnni',
    'avx512f',
    'avx512bw',
    'avx512vl',
    'avx512_vnni',
    'avx512_bf16',
    'amx_tile',
    'amx_int8',
    'amx_bf16',
  ],
  arm64: ['asimd', 'asimdhp', 'asimddp', 'i8mm', 'bf16', 'sve'],
};

function featuresIn(cpuinfo: string, arch: string): readonly string[] | undefined {
  const line = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(cpuinfo)?.[1];
  if (line === undefined) return undefined;
  const all = new Set(line.split(/\s+/));
  return (asked[arch] ?? []).filter((name) => all.has(name));
}

/** @param root of the file system, for tests */
export function cpuReport(root = '', arch: string = process.arch): CpuReport {
  const all = cpus();
  const features = featuresIn(textAt(`${root}/proc/cpuinfo`) ?? '', arch);
  return {
    model: all[0]?.model.trim() || 'unknown',
    logicalCores: all.length,
    usableCores: availableParallelism(),
    ...(features && { features }),
  };
}

/** @param isa the instruction set that the CPU backend has taken; undefined: there is no such backend */
export function cpuFindings(
  { features }: CpuReport,
  isa: string | undefined,
  env: NodeJS.ProcessEnv,
  arch: string = process.arch,
): Findings {
  const forced = env.QUERN_CPU_ISA;
  if (forced && isa !== undefined)
    return note(
      `QUERN_CPU_ISA chooses the instruction set ${isa}, which may not be the fastest of this CPU`,
      'unset QUERN_CPU_ISA',
    );
  if (arch !== 'x64' || isa !== 'scalar') return noFindings;
  const lacking = ['avx2', 'fma', 'f16c'].filter((name) => features && !features.includes(name));
  const what =
    features && lacking.length === 0
      ? 'the backend computes with scalar code although this CPU has AVX2'
      : `this CPU offers no ${(features ? lacking : ['avx2']).join(', ')}: the backend computes with scalar code, many times slower`;
  return note(
    what,
    'quern devices shows the speed. In a virtual machine, let the guest see the CPU of the host (QEMU: -cpu host)',
  );
}

const note = (what: string, help: string): Findings => ({ faults: [], notes: [{ what, help }] });
