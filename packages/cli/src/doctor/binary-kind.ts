import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** What the headers of a native binary say. */
export interface BinaryKind {
  /** 'linux-x64', 'darwin-arm64', 'win32-x64'; 'unknown': no binary of these systems. */
  readonly platform: string;
  /** Of Linux. */
  readonly libc?: 'glibc' | 'musl';
  /** The newest glibc that it asks for: '2.34'. */
  readonly glibc?: string;
  /** The file ends before its headers' content does. */
  readonly truncated: boolean;
}

/** e_machine of ELF, cputype of Mach-O, machine of PE. */
const elfMachines: Readonly<Record<number, string>> = { 62: 'x64', 183: 'arm64' };
const machMachines: Readonly<Record<number, string>> = { 16777223: 'x64', 16777228: 'arm64' };
const peMachines: Readonly<Record<number, string>> = { 34404: 'x64', 43620: 'arm64' };

/** Files of addons have some MB. */
const longest = 2 ** 28;

function bytesOf(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(Math.min(fstatSync(file).size, longest));
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(file);
  }
}

/** Reads the headers of a binary. @throws the errors of node:fs */
export function binaryKind(path: string): BinaryKind {
  const bytes = bytesOf(path);
  if (bytes.length < 64) return { platform: 'unknown', truncated: true };
  if (bytes.readUInt32BE(0) === 0x7f454c46) return elfKind(bytes);
  if (bytes.readUInt32LE(0) === 0xfeedfacf) return known('darwin', machMachines[bytes.readUInt32LE(4)]);
  if (bytes.toString('latin1', 0, 2) === 'MZ') return peKind(bytes);
  return { platform: 'unknown', truncated: false };
}

const known = (system: string, machine = 'unknown'): BinaryKind => ({
  platform: `${system}-${machine}`,
  truncated: false,
});

function peKind(bytes: Buffer): BinaryKind {
  const at = bytes.readUInt32LE(0x3c);
  return at + 6 > bytes.length
    ? { platform: 'unknown', truncated: true }
    : known('win32', peMachines[bytes.readUInt16LE(at + 4)]);
}

/** ELF-64, little endian: the table of sections lies at the end of the file. */
function elfKind(bytes: Buffer): BinaryKind {
  const platform = `linux-${elfMachines[bytes.readUInt16LE(18)] ?? 'unknown'}`;
  const sections = Number(bytes.readBigUInt64LE(40));
  const end = sections + bytes.readUInt16LE(58) * bytes.readUInt16LE(60);
  if (end > bytes.length) return { platform, truncated: true };
  const names = bytes.toString('latin1');
  const glibc = newest([...names.matchAll(/\0GLIBC_(\d+\.\d+)(?=\0)/g)].map(([, version]) => version!));
  const libc = /\0libc\.(musl-\w+\.)?so(\.1)?\0/.test(names)
    ? 'musl'
    : /\0libc\.so\.6\0/.test(names)
      ? 'glibc'
      : undefined;
  return { platform, ...(libc && { libc }), ...(glibc !== undefined && { glibc }), truncated: false };
}

/** Whether version `a` ('2.34') is newer than `b`. */
export function isNewer(a: string, b: string): boolean {
  const [[major, minor], [otherMajor, otherMinor]] = [a, b].map((text) => text.split('.').map(Number)) as [
    number[],
    number[],
  ];
  return major! > otherMajor! || (major === otherMajor && minor! > otherMinor!);
}

const newest = (versions: readonly string[]): string | undefined =>
  versions.reduce<string | undefined>(
    (best, each) => (best === undefined || isNewer(each, best) ? each : best),
    undefined,
  );
