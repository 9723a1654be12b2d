import { constants } from 'node:os';
import { fileReason, systemReason } from '../src/index.js';

/** As Node makes it. */
const systemError = (code: keyof typeof constants.errno) =>
  Object.assign(new Error(`${code}: as Node says it, open 'x'`), { code, errno: -constants.errno[code] });

test.each([
  ['EBUSY', 'resource busy or locked (EBUSY): another program has it open: close that program'],
  ['EROFS', 'read-only file system (EROFS): choose another folder'],
  ['EACCES', 'permission denied (EACCES): check the permissions of the file and its folder'],
  ['EIO', 'i/o error (EIO)'],
] as const)('%s in words, with advice where there is some', (code, reason) => {
  expect(fileReason(systemError(code))).toBe(reason);
  expect(systemReason(systemError(code))).toBe(reason.slice(0, reason.indexOf(')') + 1));
});

test('an error without a number of the system: its message', () => {
  expect(systemReason(new Error('broken'))).toBe('broken');
  expect(fileReason(new Error('broken'))).toBe('broken');
});
