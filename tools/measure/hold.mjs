import { monitorEventLoopDelay } from 'node:perf_hooks';
import { mainThreadMs } from './main-thread.mjs';

/**
 * Runs `work`; returns the longest block of the event loop in ms, by two measures: perf_hooks.monitorEventLoopDelay at
 * its finest resolution, and a 1 ms timer. `ran`: the longest run time of this thread between two timer ticks, i.e. a
 * block without waiting for a CPU (Linux).
 */
export async function longestHold(work) {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  let longest = 0;
  let ran = 0;
  let last = performance.now();
  let lastRan = mainThreadMs();
  const tick = () => {
    const now = performance.now();
    const nowRan = mainThreadMs();
    longest = Math.max(longest, now - last - 1);
    ran = Math.max(ran, nowRan - lastRan);
    last = now;
    lastRan = nowRan;
  };
  const timer = setInterval(tick, 1);
  histogram.enable();
  const result = await work();
  await new Promise((resolve) => setTimeout(resolve, 2));
  histogram.disable();
  clearInterval(timer);
  const [timed, measured] = [longest, histogram.max / 1e6 - 1];
  return { result, longest: Math.max(timed, measured), ran, median: histogram.percentile(50) / 1e6 - 1 };
}
