import { aborted } from '../error.js';
import type { Settings } from '../settings.js';
import { Passing } from './faults.js';

/** A server that wants a longer pause gets none: the error says so. */
const maxPauseMs = 300_000;
const maxBackoffMs = 30_000;
const noticedPauseMs = 5_000;

/** Resolves after `ms`. @throws HubError ABORTED */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(aborted(signal!));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Doubled for each attempt, up to half of it at random: many clients do not come back at once. */
const backoff = (firstMs: number, attempt: number): number =>
  Math.min(maxBackoffMs, firstMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);

/** Attempts in a row without a new byte. */
export class Attempts {
  #failed = 0;

  constructor(private readonly settings: Pick<Settings, 'attempts' | 'retryDelayMs' | 'onNotice'>) {}

  /** New bytes came: attempts count anew. */
  progressed(): void {
    this.#failed = 0;
  }

  /** Waits before another attempt. @throws the error, if it does not pass or attempts are used up; HubError ABORTED */
  async next(error: unknown, signal: AbortSignal | undefined): Promise<void> {
    if (!(error instanceof Passing)) throw error;
    this.#failed++;
    const { attempts, retryDelayMs, onNotice } = this.settings;
    const waitMs = error.waitMs ?? backoff(retryDelayMs, this.#failed);
    if (this.#failed >= attempts || waitMs > maxPauseMs) throw error.error;
    if (waitMs >= noticedPauseMs)
      onNotice?.(`${error.message}. The next attempt is in ${Math.ceil(waitMs / 1000)} s`);
    await pause(waitMs, signal);
  }
}

/** Repeats `act` while it fails with `Passing`. */
export async function withRetries<T>(
  settings: Pick<Settings, 'attempts' | 'retryDelayMs' | 'onNotice' | 'signal'>,
  act: () => Promise<T>,
): Promise<T> {
  const attempts = new Attempts(settings);
  for (;;)
    try {
      return await act();
    } catch (error) {
      await attempts.next(error, settings.signal);
    }
}
