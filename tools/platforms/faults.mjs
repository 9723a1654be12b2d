// What the headers of an addon say against publishing it for a platform.
import { partsOf } from './platforms.mjs';

/** Debian 10, Ubuntu 18.10, RHEL 8. */
const leastGlibc = '2.28';

/** 'glibc 2.28', 'macOS 12.0'; of musl and Windows: the name alone. */
export function needs({ os, libc, least }) {
  if (os === 'darwin') return `macOS ${least}`;
  if (os === 'win32') return 'Windows';
  if (libc === 'musl') return 'musl';
  return least ? `glibc ${least}` : 'any glibc';
}

const isNewer = (version, than) => {
  const [[major, minor], [otherMajor, otherMinor]] = [version, than].map((text) =>
    text.split('.').map(Number),
  );
  return major > otherMajor || (major === otherMajor && minor > otherMinor);
};

/** Other libraries of C++ than the one inside the addon. */
const isLibraryOfCpp = (name) => /stdc\+\+|libc\+\+|gcc_s|winpthread/.test(name);

/** What is wrong with an addon, or undefined. `facts`: of `inspectBinary`. */
export function faultOfFacts(facts, platform) {
  if (facts.format === undefined) return `its ${facts.bytes} bytes are no addon`;
  if (facts.bytes < facts.describedBytes) return `it has ${facts.bytes} of ${facts.describedBytes} bytes`;
  const { os, cpu, libc } = partsOf(platform);
  const wanted = [os, cpu, libc?.replace('glibc', 'gnu')].join(' ');
  const has = [facts.os, facts.arch, facts.libc].join(' ');
  if (has !== wanted) return `it is for ${has}, not for ${wanted}`;
  const library = facts.libraries.find(isLibraryOfCpp);
  if (os !== 'darwin' && library) return `it needs ${library}, which is not on every system`;
  if (libc === 'glibc' && isNewer(facts.least ?? '0.0', leastGlibc))
    return `it needs glibc ${facts.least}, newer than ${leastGlibc}`;
  return undefined;
}
