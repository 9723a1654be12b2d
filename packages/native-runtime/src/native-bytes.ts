import { BackendError, type WeightBytes, yieldToEventLoop } from '@quern/core';
import type { NativeBackend, NativeBytes } from './addon.js';

/** Bytes copied per turn of the event loop: about 1 ms. */
const bytesPerTurn = 2 ** 22;

/** JavaScript memory on its way to pages of the addon. */
interface Copy {
  readonly bytes: Uint8Array;
  /** Length at the start of the copy. */
  readonly byteLength: number;
  readonly given: number;
}

/**
 * Calls `load` with the bytes of a weight in the addon's form. Slices of files pass as they are. Memory is copied to pages
 * of the addon, since JavaScript may transfer, resize or overwrite memory while native threads read. The first 4 MiB are
 * copied before this function returns, the rest in later turns of the event loop. Rejects with BAD_WEIGHT if memory is
 * transferred or resized during the copy, with OUT_OF_MEMORY, and as `load`.
 */
export async function withNativeBytes<T>(
  native: NativeBackend,
  name: string,
  all: readonly WeightBytes[],
  load: (all: readonly NativeBytes[]) => Promise<T>,
): Promise<T> {
  const copies: Copy[] = [];
  try {
    const held = all.map((bytes): NativeBytes => {
      if (!(bytes instanceof Uint8Array)) return bytes;
      const { byteLength } = bytes;
      const given = native.give(byteLength);
      copies.push({ bytes, byteLength, given });
      return given;
    });
    await copyAll(native, name, copies);
    return await load(held);
  } finally {
    for (const { given } of copies) release(native, given);
  }
}

async function copyAll(native: NativeBackend, name: string, copies: readonly Copy[]): Promise<void> {
  let left = bytesPerTurn;
  for (const { bytes, byteLength, given } of copies)
    for (let at = 0; at < byteLength; ) {
      if (left === 0) {
        await yieldToEventLoop();
        left = bytesPerTurn;
      }
      if (bytes.byteLength !== byteLength) throw takenAway(name, byteLength);
      const piece = bytes.subarray(at, at + left);
      native.giveBytes(given, at, piece);
      at += piece.byteLength;
      left -= piece.byteLength;
    }
}

const takenAway = (name: string, byteLength: number) =>
  new BackendError(
    'BAD_WEIGHT',
    `weight '${name}': its ${byteLength} bytes were transferred or resized while they were copied; keep them until the weight has loaded`,
  );

/** A disposed backend has already freed its pages. */
function release(native: NativeBackend, given: number): void {
  try {
    native.takeBack(given);
  } catch (error) {
    if (!(error instanceof BackendError && error.code === 'DISPOSED')) throw error;
  }
}
