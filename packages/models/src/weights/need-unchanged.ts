import { stat } from 'node:fs/promises';
import { FileError } from '@quern/quant';

/** Inode, size and modification time per file; undefined for a missing file: its reader reports that. */
const statesOf = (paths: Iterable<string>) =>
  Promise.all(
    Array.from(paths, async (path) => {
      const state = await stat(path, { bigint: true }).catch(() => undefined);
      return { path, state: state && `${state.ino} ${state.size} ${state.mtimeNs}` };
    }),
  );

/**
 * Loads weights and checks that their files did not change meanwhile: mixed versions would compute nonsense.
 * @throws FileError CHANGED, after `discard`; else what `load` throws.
 */
export async function needUnchanged<T>(
  paths: ReadonlySet<string>,
  load: () => Promise<T>,
  discard: (loaded: T) => void = () => {},
): Promise<T> {
  const before = await statesOf(paths);
  const loaded = await load();
  const after = await statesOf(paths);
  const changed = before.find(({ state }, i) => state !== after[i]!.state);
  if (!changed) return loaded;
  discard(loaded);
  throw new FileError(
    'CHANGED',
    changed.path,
    'was written to or replaced while its weights were loaded; load it again once it is complete',
  );
}
