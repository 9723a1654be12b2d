import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { DecodeJobs } from '../src/decode/decode-job.js';
import { FileError } from '../src/index.js';
import { runEncodeJob } from '../src/quantize/encode-job.js';
import { scratch } from './scratch.js';

const pipe = scratch('pipe');
execFileSync('mkfifo', [pipe]);
const device = scratch('device');
symlinkSync('/dev/zero', device);

const slice = { offset: 0, byteLength: 16 };

/** Functions that open files on threads: a blocked open would block the thread. */
const openers: Record<string, (path: string) => unknown> = {
  'rows to encode': (path) =>
    runEncodeJob({ source: { path, offset: 0, from: 'f32' }, to: 'f16', rows: 1, rowLength: 4 }),
  'bytes to decode': (path) =>
    new DecodeJobs().run(
      {
        recipe: { kind: 'f32', format: 'f16' },
        source: { path, ...slice },
        byteLength: 32,
      },
      new Uint8Array(32),
    ),
};

describe.each(Object.entries(openers))('%s', (_, open) => {
  test.each([
    ['a pipe', pipe],
    ['a folder', scratch('.')],
    ['a device', device],
  ])('%s is refused, not waited for', (kind, path) => {
    expect(() => open(path)).toThrow(
      expect.objectContaining({
        constructor: FileError,
        code: 'NOT_A_FILE',
        message: `${path}: is ${kind}; give a regular file`,
      }),
    );
  });
});
