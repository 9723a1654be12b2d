/** What the headers of an addon say. */
export interface BinaryFacts {
  readonly format: 'ELF' | 'Mach-O' | 'PE';
  /** As `process.platform`. */
  readonly os: 'linux' | 'darwin' | 'win32';
  /** As `process.arch`; of another processor: its number in the header. */
  readonly arch: string;
  /** Shared libraries that it names. */
  readonly libraries: readonly string[];
  /** On Linux. */
  readonly libc?: 'gnu' | 'musl' | undefined;
  /** Least version of the system: of glibc, macOS or Windows; absent: the file names none. */
  readonly least?: string | undefined;
  /** Size of the file, and the end of what its headers describe. A shorter file was cut off. */
  readonly bytes: number;
  readonly describedBytes: number;
}

/** The text that ends with a zero byte. */
export function textAt(bytes: Buffer, from: number): string {
  const end = bytes.indexOf(0, from);
  return bytes.toString('latin1', from, end < 0 ? bytes.length : end);
}

/** The highest of versions like '2.17'. */
export function highest(versions: readonly string[]): string | undefined {
  return versions.reduce<string | undefined>(
    (most, each) => (most === undefined || isOlder(most, each) ? each : most),
    undefined,
  );
}

/** Whether version `a` is below `b`; missing parts count as 0. */
export function isOlder(a: string, b: string): boolean {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  const at = right!.findIndex((part, i) => part !== (left![i] ?? 0));
  return at >= 0 && (left![at] ?? 0) < right![at]!;
}
