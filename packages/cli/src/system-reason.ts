import { getSystemErrorMap } from 'node:util';

/** An error of the system in words, without its call: 'permission denied (EACCES)'. */
export function systemReason(error: unknown): string {
  const { code, errno, message } = error as NodeJS.ErrnoException;
  const [, words] = (errno === undefined ? undefined : getSystemErrorMap().get(errno)) ?? [];
  return words === undefined ? message : `${words} (${code})`;
}
