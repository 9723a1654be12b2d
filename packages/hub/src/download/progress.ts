import type { ProgressListener } from '@quern/core';

/** Adds up the progress of a download's files. */
export class DownloadProgress {
  readonly #bytes = new Map<string, number>();
  #finished = 0;
  readonly #total: number;

  constructor(
    private readonly files: readonly { readonly path: string; readonly size: number }[],
    private readonly onProgress: ProgressListener<'download'> | undefined,
  ) {
    this.#total = files.reduce((sum, { size }) => sum + size, 0);
  }

  at(path: string, bytes: number): void {
    this.#bytes.set(path, bytes);
    this.#report();
  }

  finished({ path, size }: { readonly path: string; readonly size: number }): void {
    this.#finished++;
    this.at(path, size);
  }

  /** Another process downloads the file: its bytes so far. */
  waiting(path: string, bytes: number, pid: number): void {
    this.#bytes.set(path, bytes);
    this.#report(pid);
  }

  #report(waitingFor?: number): void {
    const done = [...this.#bytes.values()].reduce((sum, bytes) => sum + bytes, 0);
    const files = { finishedFiles: this.#finished, files: this.files.length };
    this.onProgress?.({
      phase: 'download',
      done,
      total: this.#total,
      ...files,
      ...(waitingFor !== undefined && { waitingFor }),
    });
  }
}
