import { conformanceTests, formatReport, type Result, runConformance } from '@quern/conformance';
import { richDriver, toyCodec } from './rich-driver.js';

const options = { createDriver: richDriver, codecs: [toyCodec] };

test('a driver with every fused op and a block format passes, and each part of the kit ran', async () => {
  const report = await runConformance(options);
  expect(report.results.filter(({ status }) => status === 'failed')).toEqual([]);
  const passed = new Set(report.results.flatMap(({ suite, status }) => (status === 'passed' ? [suite] : [])));
  for (const suite of ['fused', 'moeFused', 'quantGguf', 'graph', 'timer', 'pagedKv', 'plans', 'rows'])
    expect(passed).toContain(suite);
  expect(report.passed + report.failed + report.notSupported).toBe(report.results.length);
}, 60_000);

test('what is not claimed counts apart from what passes', async () => {
  const report = await runConformance({ ...options, only: { suites: ['undeclared'] } });
  expect(report).toMatchObject({ passed: 0, failed: 0, notSupported: 1 });
  expect(formatReport(report)).toContain('the driver does not declare collective');
});

test('cases can be chosen by suite and by name, and are reported as they end', async () => {
  const seen: Result[] = [];
  const only = { suites: ['ops'], cases: /^rope:/ };
  const report = await runConformance({ ...options, only, onResult: (result) => seen.push(result) });
  expect(report.passed).toBeGreaterThan(3);
  expect(seen).toEqual(report.results);
  expect(seen.every(({ suite, name }) => suite === 'ops' && name.startsWith('rope:'))).toBe(true);
});

test('a report shows each failure with its reason', () => {
  const results: Result[] = [
    { suite: 'ops', name: 'add: empty', status: 'failed', message: 'y[0] is 1; expected 2' },
    { suite: 'ops', name: 'mul: empty', status: 'passed' },
  ];
  const text = formatReport({ passed: 1, failed: 1, notSupported: 0, results });
  expect(text).toContain('FAILED  ops › add: empty\n        y[0] is 1; expected 2');
  expect(text).toContain('1 passed, 1 failed, 0 not supported');
});

/** A test framework that only writes down what is registered. */
function notebook() {
  const [ran, skipped]: [(() => Promise<void>)[], string[]] = [[], []];
  const add = (_name: string, body: () => Promise<void>) => ran.push(body);
  const test = Object.assign(add, { skip: (name: string) => skipped.push(name) });
  return { ran, skipped, framework: { describe: (_name: string, body: () => void) => body(), test } };
}

test('a test framework gets one test per case, and a skipped one for what is not claimed', async () => {
  const { ran, skipped, framework } = notebook();
  await conformanceTests({ ...options, only: { suites: ['errors', 'undeclared'] } }, framework);
  expect(skipped).toHaveLength(1);
  expect(ran.length).toBeGreaterThan(30);
  for (const body of ran) await body();
});
