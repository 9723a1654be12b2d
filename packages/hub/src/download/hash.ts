import { createHash, type Hash } from 'node:crypto';

/**
 * A hash of a file's bytes in their order, by the form of its expected value: SHA-256 for 64 digits (LFS, Xet), git's
 * SHA-1 of a blob for 40. Undefined: the value is the ETag of a mirror, and only the size is checked.
 */
export function hasherOf(expected: string, size: number): Hash | undefined {
  if (/^[0-9a-f]{64}$/.test(expected)) return createHash('sha256');
  if (/^[0-9a-f]{40}$/.test(expected)) return createHash('sha1').update(`blob ${size}\0`);
  return undefined;
}
