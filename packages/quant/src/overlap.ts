import { FileError } from './error.js';

/** A named range of bytes of a file. */
interface Span {
  readonly name: string;
  readonly offset: number;
  readonly byteLength: number;
}

/** @throws FileError BAD_TENSOR if two tensors of a file share bytes. */
export function checkOverlap(path: string, tensors: readonly Span[]): void {
  const sorted = tensors.toSorted((a, b) => a.offset - b.offset);
  for (let i = 1; i < sorted.length; i++) {
    const [before, after] = [sorted[i - 1]!, sorted[i]!];
    const end = before.offset + before.byteLength;
    if (end > after.offset) {
      const names = `${JSON.stringify(before.name.slice(0, 80))} and ${JSON.stringify(after.name.slice(0, 80))}`;
      throw new FileError(
        'BAD_TENSOR',
        path,
        `tensors ${names} overlap: the first ends at byte ${end}, the second begins at ${after.offset}`,
      );
    }
  }
}
