import { getSystemErrorMap } from 'node:util';

/** What to do about an error of the system with a file, by its code. */
const advice: Readonly<Record<string, string>> = {
  EBUSY: 'another program has it open: close that program', // Windows: opened without sharing
  EACCES: 'check the permissions of the file and its folder',
  EPERM: 'check the permissions of the file and its folder',
  EROFS: 'choose another folder',
  ENOSPC: 'free space, or choose another folder',
  EDQUOT: 'free space, or choose another folder',
  ENAMETOOLONG: 'choose a shorter name',
  ENOENT: 'make its folder first',
};

/** An error of the system in words, without its call: 'permission denied (EACCES)'. */
export function systemReason(error: unknown): string {
  const { code, errno, message } = error as NodeJS.ErrnoException;
  const [, words] = (errno === undefined ? undefined : getSystemErrorMap().get(errno)) ?? [];
  return words === undefined ? message : `${words} (${code})`;
}

/** The same of a call with a file, and what to do: 'no space left on device (ENOSPC): free space, or choose another folder'. */
export function fileReason(error: unknown): string {
  const help = advice[(error as NodeJS.ErrnoException).code ?? ''];
  return help === undefined ? systemReason(error) : `${systemReason(error)}: ${help}`;
}
