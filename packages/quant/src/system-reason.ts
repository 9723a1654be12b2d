/** What to do about an error of the system, by its code. */
const advice: Readonly<Record<string, string>> = {
  EBUSY: 'another program has it open: close that program', // Windows: opened without sharing
  EACCES: 'check the permissions of the file and its folder',
  EPERM: 'check the permissions of the file and its folder',
  EROFS: 'nothing can be written there: choose another folder',
  ENOSPC: 'the disk is full: free space, or choose another folder',
  EDQUOT: 'the quota is full: free space, or choose another folder',
  ENAMETOOLONG: 'the name is too long: choose a shorter one',
  ENOENT: 'there is no such folder',
};

/** '(EBUSY): another program has it open: close that program'. Without advice, the code or message alone. */
export function systemReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const help = code === undefined ? undefined : advice[code];
  return `(${code ?? message})${help === undefined ? '' : `: ${help}`}`;
}
