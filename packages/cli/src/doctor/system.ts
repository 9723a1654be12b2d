import { release, type } from 'node:os';
import { type Findings, noFindings } from './finding.js';
import { textAt } from './read-text.js';

export interface SystemReport {
  readonly node: string;
  /** 'linux-x64-gnu': as in the names of packages with binaries. */
  readonly platform: string;
  /** 'Debian GNU/Linux 12 (bookworm), Linux 6.1.0' */
  readonly os: string;
  /** 'glibc 2.36', 'musl'; absent outside Linux. */
  readonly libc?: string;
}

/** The C library of this process. A report without a glibc is one of musl. */
function libcVersion(): string {
  const { report } = process;
  const { excludeNetwork } = report as { excludeNetwork?: boolean };
  Object.assign(report, { excludeNetwork: true }); // else the report may wait for reverse DNS
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  Object.assign(report, { excludeNetwork });
  return header.glibcVersionRuntime === undefined ? 'musl' : `glibc ${header.glibcVersionRuntime}`;
}

/** @param root of the file system, for tests */
export function systemReport(root = ''): SystemReport {
  const base = `${process.platform}-${process.arch}`;
  const libc = process.platform === 'linux' ? libcVersion() : undefined;
  const name = /^PRETTY_NAME="?([^"\n]+)/m.exec(textAt(`${root}/etc/os-release`) ?? '')?.[1];
  return {
    node: process.versions.node,
    platform: libc === undefined ? base : `${base}-${libc === 'musl' ? 'musl' : 'gnu'}`,
    os: [name, `${type()} ${release()}`].filter((each) => each !== undefined).join(', '),
    ...(libc !== undefined && { libc }),
  };
}

/** The oldest Node that the package allows: '20.17' of '>=20.17'. */
export function nodeFindings(node: string, engines: string): Findings {
  const least = engines.replace(/^>=\s*/, '');
  const [[major, minor], [leastMajor, leastMinor]] = [node, least].map((each) =>
    each.split('.').map(Number),
  ) as [number[], number[]];
  const isOld = major! < leastMajor! || (major === leastMajor && minor! < (leastMinor ?? 0));
  if (!isOld) return noFindings;
  return {
    faults: [
      {
        what: `Node ${node} is older than ${least}`,
        help: 'nvm install 22, or https://nodejs.org, brings a newer one',
      },
    ],
    notes: [],
  };
}
