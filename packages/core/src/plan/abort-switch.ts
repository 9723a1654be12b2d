import { onAbort } from '../on-abort.js';

/**
 * Sets control[0] to 1 when a signal aborts; the driver reads it between ops. A signal usually serves many runs, so the
 * switch listens from the first run until a run with another signal or none.
 */
export class AbortSwitch {
  private signal: AbortSignal | undefined;
  private stop: (() => void) | undefined;

  constructor(private readonly control: Int32Array) {}

  /** Before each run: listens to `signal`, which has not aborted yet. */
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
