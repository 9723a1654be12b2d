import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Calls `act` with a file of these bytes, then deletes the file. */
export async function withFile(bytes: Uint8Array, act: (path: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'quern-conformance-'));
  try {
    const path = join(folder, 'weights.bin');
    await writeFile(path, bytes);
    await act(path);
  } finally {
    await rm(folder, { recursive: true });
  }
}
