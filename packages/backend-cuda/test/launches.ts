// Launches of the emulated device.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend, Step, Tensor } from '@quern/core';
import { withSettings } from '../../gpu/test/settings.js';

/** How often each kernel runs while `act` does. */
export async function launchesOf(act: () => Promise<unknown>): Promise<Readonly<Record<string, number>>> {
  const folder = mkdtempSync(join(tmpdir(), 'quern-launches-'));
  const file = join(folder, 'launches');
  writeFileSync(file, '');
  await withSettings({ QUERN_EMULATED_LAUNCHES: file }, async () => void (await act()));
  const counts: Record<string, number> = {};
  for (const name of readFileSync(file, 'utf8').split('\n').filter(Boolean))
    counts[name] = (counts[name] ?? 0) + 1;
  rmSync(folder, { recursive: true });
  return counts;
}

/** The launches of a step that keeps what `record` returns, and the results. */
export async function launchesOfStep(backend: Backend, record: (step: Step) => readonly Tensor[]) {
  using step = backend.step();
  const outputs = record(step);
  for (const y of outputs) step.keep(y);
  const launches = await launchesOf(() => step.run());
  const results = [];
  for (const y of outputs) results.push(await step.read(y));
  return { launches, results };
}
