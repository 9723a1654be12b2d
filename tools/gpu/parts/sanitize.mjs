// compute-sanitizer over a few cases of the conformance kit: bad accesses, races in shared memory, reads of unwritten memory.
// QUERN_GPU_CASES: a pattern of cases. QUERN_GPU_TOOLS: tools with commas between, such as racecheck alone.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { detailPath, kit, outputOf, saveUnfinished, secondsLeft, writeResults } from './setting.mjs';

/** One case or a few of each kernel with shared memory, shuffles or copies that run beside other work. */
const cases =
  process.env.QUERN_GPU_CASES ??
  '^(linear|attention|uncachedAttention|qkNormRopeAppend|sample|topK|conv1d|moe|addRmsNorm): ';
const tools = (process.env.QUERN_GPU_TOOLS ?? 'memcheck,racecheck,initcheck').split(',');

const suites = 'ops,fused';

/** compute-sanitizer's exit code when it found something. */
const found = 86;

/** What a tool leaves to each of those that follow. */
const secondsOfTool = 60;
const leastSeconds = 30;
const mostText = 4 << 20;

/** Runs the cases under a tool. `text`: what it printed; `ended`: how. */
function run(tool, report, seconds) {
  const node = [process.execPath, '--no-warnings', join(kit, 'parts/conformance.mjs'), report, cases, suites];
  const { status, signal, error, stdout, stderr } = spawnSync(
    'compute-sanitizer',
    ['--tool', tool, '--error-exitcode', String(found), '--target-processes', 'all', ...node],
    { timeout: Math.round(1000 * seconds), maxBuffer: 1 << 28 },
  );
  const text = `${stdout ?? ''}\n${stderr ?? ''}`;
  return { status, text, timedOut: error?.code === 'ETIMEDOUT', ended: error?.message ?? signal ?? status };
}

const isFinding = (line) =>
  !/SUMMARY/.test(line) &&
  /^=====.*(Invalid |Misaligned|hazard|Uninitialized|Race reported|Barrier error|Leaked)/i.test(line);
const isRefusal = (line) =>
  /not supported|unable to|failed to (start|launch|initiali[sz]e|connect)/i.test(line);

/** { passed, message } of a run: `passed` is undefined where the tool could not judge. */
function outcomeOf({ status, text, timedOut, ended }, report) {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const summary = lines.filter((line) => /SUMMARY/.test(line)).join(' ');
  const findings = lines.filter(isFinding).length;
  const refusal = lines.find((line) => line.startsWith('=====') && isRefusal(line));
  if (findings > 0) return { passed: false, message: `${findings} findings (${ended}); ${summary}` };
  if (refusal) return { message: refusal.replace(/^=+ */, '') };
  if (timedOut) return { message: 'stopped when its time was up, without a finding so far' };
  if (!existsSync(report))
    return {
      passed: status === found ? false : undefined,
      message: `no report (${ended}): ${(lines.find(isRefusal) ?? lines.at(-1) ?? 'nothing was printed').slice(0, 500)}`,
    };
  const { passed, failed } = JSON.parse(readFileSync(report, 'utf8'));
  return {
    passed: status === 0 && failed === 0 && passed > 0,
    message: `${summary}; ${passed} cases passed, ${failed} failed (${ended})`,
  };
}

function check(tool, at) {
  const seconds = secondsLeft() - 10 - secondsOfTool * (tools.length - 1 - at);
  if (seconds < leastSeconds) return { tool, message: 'not started, the time was up', lines: [] };
  const report = detailPath(`sanitize-${tool}.json`);
  rmSync(report, { force: true });
  const ran = run(tool, report, seconds);
  writeFileSync(detailPath(`sanitize-${tool}.txt`), ran.text.slice(0, mostText));
  const lines = ran.text.split('\n').filter((line) => line.startsWith('====='));
  return { tool, ...outcomeOf(ran, report), lines: lines.slice(0, 40) };
}

function show({ tool, passed, message, lines }) {
  for (const line of passed ? [] : lines) console.log(line);
  console.log(`${passed === undefined ? 'skipped' : passed ? 'passed' : 'FAILED'}  ${tool}: ${message}`);
}

const version = outputOf('compute-sanitizer', ['--version']);
if (version === undefined) console.log('skipped: there is no compute-sanitizer');
const results = [];
for (const [at, tool] of version === undefined ? [] : tools.entries()) {
  results.push(check(tool, at));
  show(results.at(-1));
  saveUnfinished('sanitize', { version, results });
}
writeResults('sanitize', { version: version ?? null, results });
if (results.some(({ passed }) => passed === false)) process.exitCode = 1;
