import { createBackend } from '@quern/backend-reference';
import {
  type CreateBackend,
  conformanceTests,
  formatReport,
  type Result,
  runConformance,
} from '@quern/conformance';
import { BackendError, defineBackend, elements, type KernelWeight } from '@quern/core';
import { headsFirst } from './heads-first.js';
import { type Lifetime, planDriver } from './plan-driver.js';
import { richDriver, toyCodec } from './rich-driver.js';
import { roundingDriver } from './rounding-driver.js';

/** Temporaries that no op needs together. */
const apart = (a: Lifetime, b: Lifetime) => a.last < b.first || b.last < a.first;
const flagging = () => planDriver(richDriver(), { flagged: (op) => op, mayShare: apart });

/** Reads the abort word before every `every`th op. */
const looking = (says: 'segment' | 'step', every: number) => () =>
  planDriver(richDriver(), { abort: { says, looks: (op) => op % every === 0 } });

const options = { createDriver: richDriver, codecs: [toyCodec] };

test('a driver with every fused op and a block format passes, and every suite ran', async () => {
  const report = await runConformance(options);
  expect(report.results.filter(({ status }) => status === 'failed')).toEqual([]);
  const passed = new Set(report.results.flatMap(({ suite, status }) => (status === 'passed' ? [suite] : [])));
  for (const suite of ['fused', 'moeFused', 'quantGguf', 'graph', 'timer', 'pagedKv', 'plans', 'rows'])
    expect(passed).toContain(suite);
  expect(report.passed + report.failed + report.notSupported).toBe(report.results.length);
}, 300_000);

test('a driver with its own cache layout passes all suites with caches', async () => {
  const suites = ['ops', 'generated', 'fused', 'caches', 'pagedKv', 'kvQuant', 'graph', 'rows', 'steps'];
  const createDriver = () => headsFirst(richDriver());
  const cases = /cache|attention|kvAppend|qkNorm|block|fork|sequence|token|decod/i;
  const report = await runConformance({ ...options, createDriver, only: { suites, cases } });
  expect(report.results.filter(({ status }) => status === 'failed')).toEqual([]);
  expect(report.passed).toBeGreaterThan(100);
}, 120_000);

test.each([
  ['sets flags, and places temporaries', flagging],
  ['keeps temporaries in bf16', roundingDriver],
  ['does all of it', () => planDriver(roundingDriver(), { flagged: (op) => op, mayShare: apart })],
])(
  'a driver that %s passes',
  async (_, createDriver) => {
    const only = { suites: ['errors', 'fused', 'plans', 'bf16', 'steps'] };
    const report = await runConformance({ createDriver, codecs: [toyCodec], only });
    expect(report.results.filter(({ status }) => status === 'failed')).toEqual([]);
    const suites = new Set(report.results.map(({ suite }) => suite));
    expect(suites.has('bf16')).toBe(createDriver !== flagging);
  },
  300_000,
);

test.each([
  ['before each op', () => planDriver(richDriver())],
  ['between segments', looking('segment', 256)],
  ['between steps', looking('step', Number.POSITIVE_INFINITY)],
  ['between two kernels', richDriver],
])(
  'a driver that looks for aborts %s passes',
  async (_, createDriver) => {
    const report = await runConformance({ createDriver, only: { suites: ['abort'] } });
    expect(report.results.filter(({ status }) => status !== 'passed')).toEqual([]);
    expect(report.passed).toBe(3);
  },
  120_000,
);

test('unclaimed cases are counted separately from passed cases', async () => {
  const report = await runConformance({ ...options, only: { suites: ['undeclared'] } });
  expect(report).toMatchObject({ passed: 0, failed: 0, notSupported: 1 });
  expect(formatReport(report)).toContain('the driver does not declare collective');
});

test('cases can be selected by suite and name, and are reported when they end', async () => {
  const seen: Result[] = [];
  const only = { suites: ['ops'], cases: /^rope:/ };
  const report = await runConformance({ ...options, only, onResult: (result) => seen.push(result) });
  expect(report.passed).toBeGreaterThan(3);
  expect(seen).toEqual(report.results);
  expect(seen.every(({ suite, name }) => suite === 'ops' && name.startsWith('rope:'))).toBe(true);
});

test('processes can share the cases, and each case is named before it runs', async () => {
  const names = async (takes?: (place: number, one: { suite: string; name: string }) => boolean) => {
    const begun: string[] = [];
    const only = { suites: ['ops', 'views'], cases: /^rope:/, ...(takes && { takes }) };
    const onCase = ({ name }: { name: string }) => begun.push(name);
    const { results } = await runConformance({ ...options, only, onCase });
    expect(begun).toEqual(results.map(({ name }) => name));
    return begun;
  };
  const all = await names();
  const [even, odd] = [await names((place) => place % 2 === 0), await names((place) => place % 2 === 1)];
  expect(all).toEqual(all.map((_, i) => (i % 2 === 0 ? even : odd)[i >> 1]));
  expect(await names((place) => place >= 3)).toEqual(all.slice(3));
  const views = await names((_, { suite, name }) => suite === 'views' && name.startsWith('rope:'));
  expect(views).toEqual(all.slice(-views.length));
  await expect(names(() => false)).rejects.toMatchObject({
    code: 'NO_CASES',
    message: expect.stringContaining('those that `takes` takes'),
  });
});

test('an unknown suite is refused, and so is an empty selection', async () => {
  const only = (part: object) => runConformance({ ...options, only: part });
  await expect(only({ suites: ['opz'] })).rejects.toMatchObject({
    name: 'ConformanceError',
    code: 'BAD_OPTION',
    message: expect.stringContaining("there is no suite 'opz'; there are manifest, options, leaks,"),
  });
  await expect(only({ suite: ['ops'] })).rejects.toMatchObject({ code: 'BAD_OPTION' });
  await expect(runConformance({ ...options, ...{ codec: [] } })).rejects.toMatchObject({
    code: 'BAD_OPTION',
  });
  for (const part of [{ suites: [] }, { cases: /no such case/ }])
    await expect(only(part)).rejects.toMatchObject({ code: 'NO_CASES' });
  const { framework } = notebook();
  await expect(conformanceTests({ ...options, only: { suites: ['opz'] } }, framework)).rejects.toMatchObject({
    code: 'BAD_OPTION',
  });
});

const optionsOf = async (createBackend: CreateBackend) => {
  const report = await runConformance({ ...options, createBackend, only: { suites: ['options'] } });
  return report.results.map(({ status, message }) => message ?? status);
};

test('createBackend must refuse an unknown option, and take the options that every backend may get', async () => {
  expect(await optionsOf(createBackend)).toEqual(['passed', 'passed']);
  expect(await optionsOf(async () => defineBackend(richDriver()))).toEqual([
    'should be refused with BAD_ARGUMENT; it was accepted',
    'passed',
  ]);
  const strict: CreateBackend = async (given) => {
    throw new BackendError('BAD_ARGUMENT', `there is no option '${Object.keys(given)[0]}'`);
  };
  expect(await optionsOf(strict)).toEqual(['passed', "there is no option 'threads'"]);
  const { results } = await runConformance({ ...options, only: { suites: ['options'] } });
  expect(results).toMatchObject([
    { status: 'not supported', message: expect.stringContaining('no createBackend') },
  ]);
  await expect(runConformance({ ...options, createBackend: 'cpu' as never })).rejects.toMatchObject({
    code: 'BAD_OPTION',
  });
});

test('a regular expression with state selects the same cases', async () => {
  const count = async (cases: RegExp) =>
    (await runConformance({ ...options, only: { suites: ['ops'], cases } })).passed;
  expect(await count(/^rope:/g)).toBe(await count(/^rope:/));
});

test('a report gives the largest share of the tolerance of each op, by format', async () => {
  const wrong = richDriver();
  const linear: typeof wrong.kernels.linear = async (given, own, [y]) => {
    await wrong.kernels.linear(given, own, [y!]);
    const values = elements(y!) as Float32Array;
    if ((given.w as KernelWeight).format === 'f16') values.forEach((v, i) => (values[i] = v * (1 + 0.9e-4)));
  };
  const driver = { ...wrong, kernels: { ...wrong.kernels, linear } };
  const only = { suites: ['ops'], cases: /^(linear|add):/ };
  const report = await runConformance({ ...options, createDriver: () => driver, only });
  const share = (op: string, format: string) =>
    report.closeness.find((seen) => seen.op === op && seen.format === format);
  expect(share('linear', 'f32')!.share).toBeLessThan(0.2);
  expect(share('linear', 'f16')).toMatchObject({ case: expect.stringMatching(/^linear: /) });
  expect(share('linear', 'f16')!.share).toBeGreaterThan(share('linear', 'f32')!.share);
  expect(share('add', 'f32')!.share).toBe(0);
  expect(formatReport(report)).toMatch(
    /percent of the tolerance[\s\S]*\n {2}linear +f16 \d+[\s\S]*\n {2}exact: add/,
  );
});

test('shares near 1 are marked, and errors with tolerance 0', () => {
  const seen = { op: 'silu', case: 'silu: rows' };
  const closeness = [
    { ...seen, format: 'f32', share: 0.93 },
    { ...seen, format: 'bf16', share: 0.2 },
    { ...seen, op: 'embed', format: 'f32', share: Number.POSITIVE_INFINITY },
  ];
  const text = formatReport({ passed: 0, failed: 0, notSupported: 0, results: [], closeness });
  expect(text).toMatch(/^ {2}embed +f32 ∞!\n {2}silu +f32 93! {2}bf16 20$/m);
});

test('a report shows each failure with its reason', () => {
  const results: Result[] = [
    { suite: 'ops', name: 'add: empty', status: 'failed', message: 'y[0] is 1; expected 2' },
    { suite: 'ops', name: 'mul: empty', status: 'passed' },
  ];
  const text = formatReport({ passed: 1, failed: 1, notSupported: 0, results, closeness: [] });
  expect(text).toContain('FAILED  ops › add: empty\n        y[0] is 1; expected 2');
  expect(text).toContain('1 passed, 1 failed, 0 not supported');
});

/** A test framework that only records registered tests. */
function notebook() {
  const [ran, skipped]: [(() => Promise<void>)[], string[]] = [[], []];
  const add = (_name: string, body: () => Promise<void>) => ran.push(body);
  const test = Object.assign(add, { skip: (name: string) => skipped.push(name) });
  return { ran, skipped, framework: { describe: (_name: string, body: () => void) => body(), test } };
}

test('a test framework gets one test per case, skipped for unclaimed cases', async () => {
  const { ran, skipped, framework } = notebook();
  await conformanceTests({ ...options, only: { suites: ['errors', 'undeclared'] } }, framework);
  expect(skipped).toHaveLength(1);
  expect(ran.length).toBeGreaterThan(30);
  for (const body of ran) await body();
});
