import type { LoadProgress } from '@quern/runtime';
import { Presets, SingleBar } from 'cli-progress';

/** A progress bar on stderr during loading, if stderr is a terminal. */
export function loadingBar(): { update(progress: LoadProgress): void; stop(): void } {
  if (!process.stderr.isTTY) return { update() {}, stop() {} };
  const bar = new SingleBar(
    {
      format: '{bar} {percentage}% {phase}',
      stream: process.stderr,
      clearOnComplete: true,
      hideCursor: true,
    },
    Presets.shades_classic,
  );
  let started = false;
  return {
    update({ phase, loaded, total }) {
      if (!started) bar.start(total, loaded, { phase });
      started = true;
      bar.setTotal(total);
      bar.update(loaded, { phase });
    },
    stop() {
      if (started) bar.stop();
    },
  };
}
