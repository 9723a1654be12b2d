import { BackendError, QuernError } from '../src/index.js';

/** The module a second time, like another copy of the package. */
async function anotherCopy(): Promise<typeof import('../src/error.js')> {
  const copy = new URL('../src/error.ts?copy', import.meta.url).href;
  return import(copy);
}

test('errors of another copy are recognised, by class and by code', async () => {
  const other = await anotherCopy();
  expect(other.BackendError).not.toBe(BackendError);
  const error: unknown = new other.BackendError('DISPOSED', 'over');
  expect(error instanceof BackendError && error.code).toBe('DISPOSED');
  expect(error instanceof QuernError).toBe(true);
  expect(new other.QuernError('X', 'x') instanceof BackendError).toBe(false);
});

test('a class of one copy over the base of another', async () => {
  const other = await anotherCopy();
  class DriverError extends other.QuernError {
    static override readonly className: string = 'DriverError';
  }
  class SameName extends QuernError {
    static override readonly className: string = 'DriverError';
  }
  const error: unknown = new DriverError('X', 'x');
  expect([error instanceof SameName, error instanceof QuernError, error instanceof BackendError]).toEqual([
    true,
    true,
    false,
  ]);
});

test('a subclass without its own className is recognised by identity', async () => {
  const other = await anotherCopy();
  class Special extends BackendError {}
  expect(new other.BackendError('DISPOSED', 'over') instanceof Special).toBe(false);
  expect(new Special('DISPOSED', 'over') instanceof Special).toBe(true);
  expect(new Special('DISPOSED', 'over') instanceof other.BackendError).toBe(true);
});

test.each([null, undefined, 'text', 5, {}, new Error('plain')])('%p is no QuernError', (value: unknown) => {
  expect(value instanceof QuernError).toBe(false);
});

test('the name is the class name; AbortError for ABORTED', () => {
  expect(new BackendError('DISPOSED', 'over').name).toBe('BackendError');
  const aborted = new BackendError('ABORTED', 'stopped');
  expect([aborted.name, aborted.code, String(aborted)]).toEqual([
    'AbortError',
    'ABORTED',
    'AbortError: stopped',
  ]);
});
