import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Runs `work` and returns the longest time, in ms, that the event loop was held meanwhile, by two witnesses:
 * perf_hooks.monitorEventLoopDelay at its finest resolution, and a timer that asks to run every millisecond.
 */
export async function longestHold(work) {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  let longest = 0;
  let last = performance.now();
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 1);
    last = now;
  };
  const timer = setInterval(tick, 1);
  histogram.enable();
  await work();
  await new Promise((resolve) => setTimeout(resolve, 2));
  histogram.disable();
  clearInterval(timer);
  return { timer: longest, histogram: histogram.max / 1e6 - 1, median: histogram.percentile(50) / 1e6 - 1 };
}
