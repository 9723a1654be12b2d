/** The system that addons are loaded on. */
export interface System {
  readonly os: string;
  readonly arch: string;
  /** On Linux. */
  readonly libc?: 'gnu' | 'musl' | undefined;
  /** Version of glibc at run time: '2.36'. */
  readonly glibc?: string | undefined;
}

/** From the process report, which starts no program. musl: the report names no glibc. */
function glibcVersion(): string | undefined {
  const report = process.report;
  const { excludeNetwork } = report as { excludeNetwork?: boolean };
  Object.assign(report, { excludeNetwork: true }); // otherwise the report may wait for reverse DNS
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  Object.assign(report, { excludeNetwork });
  return header.glibcVersionRuntime;
}

let known: System | undefined;

/** This process's system. The first call takes milliseconds on Linux. */
export function thisSystem(): System {
  known ??= readSystem();
  return known;
}

function readSystem(): System {
  const { platform: os, arch } = process;
  if (os !== 'linux') return { os, arch };
  const glibc = glibcVersion();
  return { os, arch, libc: glibc === undefined ? 'musl' : 'gnu', glibc };
}

/** As in names of prebuilt packages: 'linux-x64-gnu', 'darwin-arm64'. */
export const platformOf = ({ os, arch, libc }: System): string =>
  [os, arch, ...(libc ? [libc] : [])].join('-');

/** Platform of this process. */
export const platform = (): string => platformOf(thisSystem());
