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
  const parts: Part[] = [];
  const starts = partsFrom(source, settings, from, signal);
  const launch = (count: number) => {
    while (parts.length < count) {
      const { value } = starts.next();
      if (value === undefined) return;
      parts.push(value.start(slots));
    }
  };
  launch(1); // alone, until its first byte: it finds the storage
  try {
    for (; parts.length > 0; parts.shift(), launch(1))
      for await (const chunk of parts[0]!.read()) {
        launch(settings.connections);
        yield chunk;
      }
  } finally {
    for (const part of parts) part.discard();
  }
}

function* partsFrom(
  source: Source,
  settings: Settings,
  from: number,
  signal: AbortSignal,
): Generator<Part, undefined> {
  const { size } = source.file;
  for (let at = from; at < size; at += settings.partBytes)
    yield new Part(source, settings, at, Math.min(size, at + settings.partBytes), signal);
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
