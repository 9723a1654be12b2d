import { onAbort } from '../on-abort.js';

/**
 * Makes control[0] 1 when a signal aborts, for the driver to see between ops. A signal usually serves many runs, so the
 * switch listens to it from its first run until another signal, or none, comes.
 */
export class AbortSwitch {
  private signal: AbortSignal | undefined;
  private stop: (() => void) | undefined;

  constructor(private readonly control: Int32Array) {}

  /** Before each run: follows `signal`, which has not aborted yet. */
  arm(signal: AbortSignal | undefined): void {
    this.control[0] = 0;
    if (signal === this.signal) return;
    this.stop?.();
    this.stop = signal && onAbort(signal, this.abort);
    this.signal = signal;
  }

  private readonly abort = (): void => {
    this.control[0] = 1;
  };
}
