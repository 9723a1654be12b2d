import type { Phase, Progress } from '@quern/runtime';
import { Presets, SingleBar } from 'cli-progress';
import { showBytes } from './bytes.js';

import { isQuiet } from './verbosity.js';

export interface ProgressBar {
  /** Shows the progress. Work that is done takes its bar away. */
  update(progress: Progress): void;
  /** Takes the bar away, so that other text can be written. The next update shows it again. */
  stop(): void;
}

/** What a bar says of each phase beside the percentage. */
const units: Readonly<Record<Phase, string>> = {
  download: '',
  backend: '',
  weights: '',
  prefill: 'tokens',
  embed: 'texts',
  rerank: 'texts',
  transcribe: 'seconds of sound',
  quantize: '',
  perplexity: 'tokens',
};

function textOf(progress: Progress): string {
  const { phase, done, total } = progress;
  if (phase === 'download') return downloadText(progress);
  const unit = units[phase];
  const counts = unit === '' ? '' : `: ${Math.floor(done)} of ${Math.ceil(total)} ${unit}`;
  const again = phase === 'transcribe' && progress.temperature ? `, temperature ${progress.temperature}` : '';
  return phase + counts + again;
}

function downloadText({ done, total, waitingFor }: Progress<'download'>): string {
  const waiting = waitingFor === undefined ? '' : `, by process ${waitingFor}`;
  return `download: ${showBytes(done)} of ${showBytes(total)}${waiting}`;
}

/** A progress bar on stderr, if stderr is a terminal; none with --quiet. */
export function progressBar(): ProgressBar {
  if (!process.stderr.isTTY || isQuiet()) return { update() {}, stop() {} };
  const bar = new SingleBar(
    {
      format: '{bar} {percentage}% {text}',
      stream: process.stderr,
      clearOnComplete: true,
      hideCursor: true,
    },
    Presets.shades_classic,
  );
  let started = false;
  const stop = () => {
    if (started) bar.stop();
    started = false;
  };
  return {
    update(progress) {
      const { done, total } = progress;
      if (done >= total) return stop();
      const text = textOf(progress);
      if (!started) bar.start(total, done, { text });
      started = true;
      bar.setTotal(total);
      bar.update(done, { text });
    },
    stop,
  };
}
