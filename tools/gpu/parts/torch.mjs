// PyTorch's figures on our shapes, where there is one: torch.py.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { endingOf, runProgram } from './processes.mjs';
import { detailPath, kit, secondsLeft, small, writeResults } from './setting.mjs';

/**
 * What torch.py found, or why it found nothing: { torch, message }. A program that hangs must not take the time of others.
 * @param flags such as --ceilings
 */
export async function runTorch(seconds, flags = []) {
  const report = detailPath('torch.json');
  rmSync(report, { force: true });
  const args = [join(kit, 'parts/torch.py'), report, String(Math.floor(seconds)), ...flags];
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
  writeResults('torch', {
    torch: torch ?? null,
    ...(!torch && { missing: ['PyTorch'] }),
    problems: torch && message ? [`torch.py ${message}`] : [],
  });
}

if (process.argv[1]?.endsWith('torch.mjs')) await runPart();
