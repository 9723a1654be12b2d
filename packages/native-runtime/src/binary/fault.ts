import { type BinaryFacts, isOlder } from './facts.js';
import { inspectBinary, type NoBinary } from './inspect-binary.js';
import { platformOf, type System } from './system.js';

/** Why a file does not load. */
export interface FileFault {
  /**
   * damaged: cut off, or no addon. platform: of another system or processor. libc: of the other C library. old-system: needs a newer
   * system. other: what the system said.
   */
  readonly kind: 'damaged' | 'platform' | 'libc' | 'old-system' | 'other';
  /** A clause after the file's name: 'is cut off: …'. */
  readonly message: string;
}

const names = { gnu: 'glibc', musl: 'musl' };
const systems: Readonly<Record<string, string>> = { linux: 'Linux', darwin: 'macOS', win32: 'Windows' };

function damage(facts: BinaryFacts | NoBinary): FileFault | undefined {
  const { bytes } = facts;
  if (facts.format === undefined)
    return { kind: 'damaged', message: `is damaged: its ${bytes} bytes are no native addon` };
  if (bytes >= facts.describedBytes) return undefined;
  return { kind: 'damaged', message: `is damaged: it has ${bytes} of ${facts.describedBytes} bytes` };
}

function mismatch({ os, arch, libc }: BinaryFacts, system: System): FileFault | undefined {
  const here = platformOf(system);
  if (os !== system.os || arch !== system.arch)
    return { kind: 'platform', message: `is for ${systems[os]} on ${arch}, and this is ${here}` };
  if (!libc || !system.libc || libc === system.libc) return undefined;
  return {
    kind: 'libc',
    message: `is for Linux with ${names[libc]}, and this system has ${names[system.libc]}`,
  };
}

function tooOld({ libc, least }: BinaryFacts, { glibc }: System): FileFault | undefined {
  if (libc !== 'gnu' || !least || !glibc || !isOlder(glibc, least)) return undefined;
  return { kind: 'old-system', message: `needs glibc ${least}, and this system has ${glibc}` };
}

/**
 * Why a file must not be loaded: on Linux, a cut file ends the process (SIGBUS) when the loader reads beyond its end.
 * Undefined: nothing speaks against trying.
 */
export function cutOff(file: string, { os, arch }: System): FileFault | undefined {
  const hasHeaders = os === 'linux' && ['x64', 'arm64'].includes(arch); // other processors may have other ones
  if (!hasHeaders || !file.endsWith('.node')) return undefined;
  try {
    return damage(inspectBinary(file));
  } catch {
    return undefined; // loading it says why
  }
}

/** What the file's headers say against loading it on a system; else what the system said. */
export function faultOfFile(file: string, system: System, said: string): FileFault {
  try {
    const facts = inspectBinary(file);
    const found = damage(facts);
    if (found || facts.format === undefined) return found!;
    return mismatch(facts, system) ?? tooOld(facts, system) ?? { kind: 'other', message: said };
  } catch (error) {
    return { kind: 'other', message: `cannot be read: ${(error as Error).message}` };
  }
}
