// compute-sanitizer over a few cases of the conformance kit: bad accesses, races in shared memory, reads of unwritten memory.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { kit, outPath, outputOf, secondsLeft, writeResults } from './setting.mjs';

/** One case or a few of each kernel with shared memory, shuffles or copies that run beside other work. */
const cases =
  process.env.QUERN_GPU_CASES ??
  '^(linear|attention|uncachedAttention|qkNormRopeAppend|sample|topK|conv1d|moe|addRmsNorm): ';
const tools = ['memcheck', 'racecheck', 'initcheck'];

const suites = 'ops,fused';

/** compute-sanitizer's exit code when it found something. */
const found = 86;

function check(tool) {
  const report = outPath(`sanitize-${tool}.json`);
  const node = [process.execPath, '--no-warnings', join(kit, 'parts/conformance.mjs'), report, cases, suites];
  const { status, signal, stdout } = spawnSync(
    'compute-sanitizer',
    ['--tool', tool, '--error-exitcode', String(found), '--target-processes', 'all', ...node],
    { timeout: Math.round(1000 * Math.max(20, secondsLeft() / tools.length)), maxBuffer: 1 << 28 },
  );
  const lines = String(stdout)
    .split('\n')
    .filter((line) => line.startsWith('====='));
  const summary = lines.filter((line) => /SUMMARY/.test(line)).join(' ');
  for (const line of status === 0 ? [] : lines.slice(0, 40)) console.log(line);
  if (signal)
    return {
      tool,
      message: `stopped when its time was up, without a finding so far`,
      lines: lines.slice(0, 200),
    };
  const { passed, failed } = status === 0 || status === found ? JSON.parse(readFileSync(report, 'utf8')) : {};
  return {
    tool,
    passed: status === 0,
    message: `${summary}; ${passed} cases passed, ${failed} failed`,
    lines: lines.slice(0, 200),
  };
}

const version = outputOf('compute-sanitizer', ['--version']);
if (version === undefined) console.log('skipped: there is no compute-sanitizer');
const results = version === undefined ? [] : tools.map(check);
for (const { tool, passed, message } of results)
  console.log(`${passed === undefined ? 'skipped' : passed ? 'passed' : 'FAILED'}  ${tool}: ${message}`);
writeResults('sanitize', { version: version ?? null, results });
if (results.some(({ passed }) => passed === false)) process.exitCode = 1;
