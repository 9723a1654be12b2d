import type { Settings } from '../settings.js';
import type { Source } from './open-range.js';
import { Part } from './part.js';
import type { Slots } from './slots.js';

/**
 * The bytes of a file from `from` on, in their order, fetched in parallel parts. The order lets one pass write and hash
 * them, and leaves a file without holes after a failure. Parts that wait for their turn lie in memory; slots bound them.
 */
export async function* inOrder(
  source: Source,
  settings: Settings,
  from: number,
  slots: Slots,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const { size } = source.file;
  const parts: Part[] = [];
  let next = from;
  const launch = (count: number) => {
    for (; parts.length < count && next < size; next = Math.min(size, next + settings.partBytes))
      parts.push(
        new Part(source, settings, next, Math.min(size, next + settings.partBytes), signal).start(slots),
      );
  };
  launch(1); // alone, until its first byte: it finds the storage
  try {
    while (parts.length > 0) {
      for await (const chunk of parts[0]!.read()) {
        launch(settings.connections);
        yield chunk;
      }
      parts.shift();
      launch(1);
    }
  } finally {
    for (const part of parts) part.discard();
  }
}

/** The whole file by one request, for servers without ranges. */
export async function* inOnePiece(
  source: Source,
  settings: Settings,
  slots: Slots,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  yield* new Part(source, settings, 0, source.file.size, signal).start(slots).read();
}
