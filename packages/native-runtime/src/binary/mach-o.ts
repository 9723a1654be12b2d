// Mach-O, 64 bits: mach-o/loader.h of Apple's XNU.
import { type BinaryFacts, textAt } from './facts.js';

const arches: Readonly<Record<number, string>> = { 16777223: 'x64', 16777228: 'arm64' };
const [loadDylib, segment64, versionMin, buildVersion] = [0xc, 0x19, 0x24, 0x32]; // load commands

export const isMachO = (bytes: Buffer): boolean => bytes.length >= 32 && bytes.readUInt32LE(0) === 0xfeedfacf;

/** Offsets of the load commands. */
function commandsOf(bytes: Buffer): number[] {
  const offsets: number[] = [];
  const end = 32 + bytes.readUInt32LE(20);
  for (let at = 32; at < end; at += Math.max(8, bytes.readUInt32LE(at + 4))) offsets.push(at);
  return offsets;
}

/** 0xXXXXYYZZ: version X.Y.Z. */
const versionOf = (word: number): string => `${word >>> 16}.${(word >>> 8) & 255}`;

/** Throws a RangeError where the file ends within its headers. */
export function readMachO(bytes: Buffer): BinaryFacts {
  const commands = commandsOf(bytes);
  const of = (type: number) => commands.filter((at) => bytes.readUInt32LE(at) === type);
  const segments = of(segment64).map((at) => bytes.readBigUInt64LE(at + 40) + bytes.readBigUInt64LE(at + 48));
  const libraries = of(loadDylib).map((at) => textAt(bytes, at + bytes.readUInt32LE(at + 8)));
  const least = [...of(buildVersion).map((at) => at + 12), ...of(versionMin).map((at) => at + 8)];
  const cpu = bytes.readUInt32LE(4);
  return {
    format: 'Mach-O',
    os: 'darwin',
    arch: arches[cpu] ?? `Mach-O processor ${cpu}`,
    libraries,
    least: least[0] === undefined ? undefined : versionOf(bytes.readUInt32LE(least[0])),
    bytes: bytes.length,
    describedBytes: Math.max(32, ...segments.map(Number)),
  };
}
