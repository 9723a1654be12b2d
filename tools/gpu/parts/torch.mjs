// PyTorch's figures on our shapes, where there is one: torch-ops.py.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { endingOf, runProgram } from './processes.mjs';
import { detailPath, kit, secondsLeft, small, writeResults } from './setting.mjs';

/** Whether there is no PyTorch, or none with a GPU. One that cannot be loaded is a problem. */
const isAbsence = (message) =>
  /python3 is not there|without PyTorch: No module named 'torch'$|PyTorch sees no GPU/m.test(message);

/**
 * What torch-ops.py found, or why it found nothing: { torch, message }. A program that hangs must not take the time of others.
 * @param flags such as --ceilings
 */
export async function runTorch(seconds, flags = []) {
  const report = detailPath('torch.json');
  rmSync(report, { force: true });
  const args = [join(kit, 'parts/torch-ops.py'), report, String(Math.floor(seconds)), ...flags];
  const { ended, text } = await runProgram('python3', small ? [...args, '--small'] : args, { seconds });
  const torch = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined;
  return { torch, message: ended && endingOf({ ended, text }) };
}

/** The part: all shapes. */
async function runPart() {
  const { torch, message } = await runTorch(secondsLeft() - 1);
  for (const { name, seconds, failed } of torch?.works ?? [])
    console.log(
      failed ? `FAILED ${name}: ${failed}` : `${(1e6 * seconds).toFixed(1).padStart(9)} µs  ${name}`,
    );
  if (torch?.skipped.length > 0) console.log(`not measured, the time was up: ${torch.skipped.join('; ')}`);
  if (message) console.log(`PyTorch: ${message}`);
  const isMissing = message !== undefined && isAbsence(message);
  const failures = (torch?.works ?? []).filter(({ failed }) => failed);
  writeResults('torch', {
    torch: torch ?? null,
    ...(isMissing && { missing: ['PyTorch'] }),
    problems: [
      ...(message && !isMissing ? [`torch-ops.py ${message}`] : []),
      ...failures.map(({ name, failed }) => `${name}: ${failed}`),
    ],
  });
}

if (process.argv[1]?.endsWith('torch.mjs')) await runPart();
