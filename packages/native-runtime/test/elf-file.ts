// Small ELF files, as a linker would write their headers: libraries and versions of symbols, no code.

export interface ElfContent {
  /** 62: x86-64, 183: AArch64. */
  readonly machine: number;
  readonly libraries: readonly string[];
  /** Versions of symbols of the first library: 'GLIBC_2.28'. */
  readonly versions?: readonly string[];
}

/** Strings with their offsets: a zero byte, then each text with a zero byte. */
function stringTable(texts: readonly string[]) {
  const offsets = texts.map(
    (_, i) =>
      1 +
      Buffer.byteLength(
        texts
          .slice(0, i)
          .map((t) => `${t}\0`)
          .join(''),
      ),
  );
  return { bytes: Buffer.from(`\0${texts.map((text) => `${text}\0`).join('')}`), offsets };
}

/** Words of 64 bits. */
const words = (values: readonly number[]) => Buffer.from(BigUint64Array.from(values.map(BigInt)).buffer);

/** Verneed of one library, and a Vernaux per version. */
function versionsNeeded(library: number, names: readonly number[]): Buffer {
  const bytes = Buffer.alloc(16 + 16 * names.length);
  bytes.writeUInt16LE(1, 0);
  bytes.writeUInt16LE(names.length, 2);
  bytes.writeUInt32LE(library, 4);
  bytes.writeUInt32LE(16, 8);
  names.forEach((name, i) => {
    bytes.writeUInt32LE(name, 16 + 16 * i + 8);
    bytes.writeUInt32LE(i + 1 < names.length ? 16 : 0, 16 + 16 * i + 12);
  });
  return bytes;
}

function segment(type: number, offset: number, size: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(type, 0);
  return Buffer.concat([head, words([offset, offset, offset, size, size, 8])]);
}

function header(machine: number, segments: number): Buffer {
  const bytes = Buffer.alloc(64);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  bytes.writeUInt16LE(3, 16); // a shared object
  bytes.writeUInt16LE(machine, 18);
  bytes.writeBigUInt64LE(64n, 32); // segments follow
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(segments, 56);
  return bytes;
}

/** The bytes of such a file. One segment holds all, at the address of its offset. */
export function elfFile({ machine, libraries, versions = [] }: ElfContent): Buffer {
  const { bytes: strings, offsets } = stringTable([...libraries, ...versions]);
  const names = offsets.slice(libraries.length);
  const needs = versionsNeeded(offsets[0] ?? 0, names);
  const [stringsAt, needsAt] = [64 + 2 * 56, 64 + 2 * 56 + strings.length];
  const dynamicAt = needsAt + needs.length;
  const tags = words([
    ...libraries.flatMap((_, i) => [1, offsets[i]!]),
    ...[5, stringsAt],
    ...(versions.length > 0 ? [0x6ffffffe, needsAt, 0x6fffffff, 1] : []),
    ...[0, 0],
  ]);
  const segments = [segment(1, 0, dynamicAt + tags.length), segment(2, dynamicAt, tags.length)];
  return Buffer.concat([header(machine, 2), ...segments, strings, needs, tags]);
}
