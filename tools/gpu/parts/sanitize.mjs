// compute-sanitizer over cases of the conformance kit, all its tools side by side: bad accesses, races in shared memory, reads of unwritten memory,
// barriers. QUERN_GPU_CASES: a pattern of cases. QUERN_GPU_TOOLS: tools with commas between, such as racecheck alone.
import { writeFileSync } from 'node:fs';
import { runKit } from './kit-runs.mjs';
import { detailPath, outputOf, patience, saveUnfinished, secondsLeft, writeResults } from './setting.mjs';

/** Cases of each kernel with shared memory, shuffles or copies that run beside other work, and of chains. */
const ops =
  'linear|attention|uncachedAttention|qkNormRopeAppend|qkvLinear|gateUpSwiglu|sample|topK|argmax|conv1d|expertLinear|addRmsNorm|rmsNorm|softmax';
const chains = 'several rows at once|each row has its own limit|slots follow';
const cases = process.env.QUERN_GPU_CASES ?? `^((${ops}): |${chains})`;
const suites = ['ops', 'fused', 'chain'];

/** compute-sanitizer's exit code when it found something. */
const foundCode = 86;

/** Processes of each tool, and its settings. Launches that overlap hide races within one. */
const toolsOf = {
  memcheck: { count: 4 },
  racecheck: { count: 2, env: { QUERN_CUDA_DEPENDENT: '0' } },
  initcheck: { count: 1 },
  synccheck: { count: 1 },
};
const tools = (process.env.QUERN_GPU_TOOLS ?? Object.keys(toolsOf).join()).split(',');

const minSeconds = 5;
/** Bytes of a tool's report: a place that runs commands may return no file above 16 MiB, and results.tar has all. */
const maxText = 1 << 20;

const isFinding = (line) =>
  !/SUMMARY/.test(line) &&
  /^=====.*(Invalid |Misaligned|hazard|Uninitialized|Race reported|Barrier error|Leaked)/i.test(line);
const isRefusal = (line) =>
  /not supported|unable to|failed to (start|launch|initiali[sz]e|connect)/i.test(line);

/** { passed, message } of a run: `passed` is undefined where the tool could not judge. */
function outcomeOf({ passed, failed, unfinished, failures, text }) {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const findings = lines.filter(isFinding).length;
  const refusal = lines.find((line) => line.startsWith('=====') && isRefusal(line));
  const cases = `${passed} cases passed, ${failed} failed${unfinished > 0 ? `, ${unfinished} processes left cases undone` : ''}`;
  if (findings > 0) return { passed: false, message: `${findings} findings; ${cases}` };
  if (refusal && passed === 0) return { message: refusal.replace(/^=+ */, '') };
  if (failed > 0) return { passed: false, message: `${cases}; ${failures[0].name}: ${failures[0].message}` };
  return { passed: passed > 0 ? true : undefined, message: cases };
}

async function check(tool) {
  if (secondsLeft() < minSeconds * patience)
    return { tool, message: 'not started, the time was up', lines: [] };
  const { count, env } = toolsOf[tool];
  const options = ['--tool', tool, '--error-exitcode', String(foundCode), '--target-processes', 'all'];
  const found = await runKit(
    { cases, suites },
    {
      count,
      env: { QUERN_CUDA_RATES: 'table', ...env },
      quiet: true,
      wrapper: ['compute-sanitizer', ...options],
      until: Date.now() / 1000 + secondsLeft() - 1,
      log: detailPath(`sanitize-${tool}.log`),
    },
  );
  writeFileSync(detailPath(`sanitize-${tool}.txt`), found.text.slice(0, maxText));
  const lines = found.text.split('\n').filter((line) => line.startsWith('====='));
  return { tool, ...outcomeOf(found), lines: lines.slice(0, 40) };
}

function show({ tool, passed, message, lines }) {
  for (const line of passed ? [] : lines) console.log(line);
  console.log(`${passed === undefined ? 'skipped' : passed ? 'passed' : 'FAILED'}  ${tool}: ${message}`);
}

const version = outputOf('compute-sanitizer', ['--version']);
if (version === undefined) console.log('skipped: compute-sanitizer is not there');
const found = new Map();
let results = [];
async function judge(tool) {
  found.set(tool, await check(tool));
  show(found.get(tool));
  results = tools.flatMap((each) => found.get(each) ?? []);
  saveUnfinished('sanitize', { version, results });
}
await Promise.all(version === undefined ? [] : tools.map(judge));
const failed = results.filter(({ passed }) => passed === false);
writeResults('sanitize', {
  version: version ?? null,
  results,
  ...(version === undefined && { missing: ['compute-sanitizer'] }),
  problems: failed.map(({ tool, message }) => `${tool}: ${message}`),
});
