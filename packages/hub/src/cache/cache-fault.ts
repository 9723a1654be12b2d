import { codeOf, HubError, messageOf } from '../error.js';

const full = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/** The error of a failed access to the cache. */
export function cacheFault(error: unknown, path: string): HubError {
  if (error instanceof HubError) return error;
  const code = codeOf(error);
  if (code !== undefined && full.includes(code))
    return new HubError(
      'NO_SPACE',
      `${path} cannot be written (${code}): the disk or the quota is full. Free space (quern ls, quern rm), or set HF_HUB_CACHE to a folder of another disk; the next pull resumes`,
      { cause: error },
    );
  return new HubError(
    'CACHE_FAILED',
    `the cache cannot be used at ${path} (${code ?? messageOf(error)}): check the permissions, or set HF_HUB_CACHE to another folder`,
    { cause: error },
  );
}

/** Runs an access to the cache. @throws HubError NO_SPACE, CACHE_FAILED */
export async function inCache<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw cacheFault(error, path);
  }
}

/** Undefined instead of an error where nothing is at the path. @throws the errors of `act` otherwise */
export async function ifThere<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}
