import type { Progress } from '@quern/runtime';
import { showBytes } from './bytes.js';
import { type ProgressBar, progressBar } from './progress.js';
import { notice } from './report.js';

/** Lines per download where no bar can be drawn. */
const steps = 10;

/** A bar at a terminal; else a line for each tenth, so that a log stays short. */
export function downloadProgress(): ProgressBar {
  return process.stderr.isTTY ? progressBar() : progressLines();
}

function progressLines(): ProgressBar {
  let shown = -1;
  let waitedFor: number | undefined;
  return {
    update(progress) {
      const { done, total } = progress;
      if (progress.phase === 'download' && progress.waitingFor !== waitedFor) {
        waitedFor = progress.waitingFor;
        if (waitedFor !== undefined) notice(`waiting for process ${waitedFor}, which downloads this model`);
      }
      const step = total === 0 ? steps : Math.floor((steps * done) / total);
      if (step <= shown) return;
      shown = step;
      notice(lineOf(progress));
    },
    stop() {},
  };
}

const lineOf = ({ done, total }: Progress): string =>
  `download: ${total === 0 ? 100 : Math.floor((100 * done) / total)} % (${showBytes(done)} of ${showBytes(total)})`;
