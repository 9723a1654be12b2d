import { existsSync, readFileSync } from 'node:fs';
import { formatReport, type Report, runConformance } from '@quern/conformance';
import { type Driver, defineBackend, fusedOps } from '@quern/core';
import { loadModel } from '@quern/runtime';
import { plainDriver } from '../../../../docs/examples/backend/driver.js';
import { createBackend } from '../../../../docs/examples/backend/index.js';
import { planDriver } from '../../../../docs/examples/backend/plan-driver.js';
import { isDrawn } from '../../../../test-scope.js';

const model = (name: string) => new URL(`../../../demo-model/model/${name}`, import.meta.url);

const own = ['addRmsNorm', 'gateUpSwiglu'];

/** Names of fused ops with this result. */
function fused({ results }: Report, status: 'passed' | 'not supported'): string[] {
  const names = results.filter((result) => result.suite === 'fused' && result.status === status);
  return [...new Set(names.map(({ name }) => name.split(':')[0]!))];
}

describe.each<[string, () => Driver, 0 | 1]>([
  ['a table of kernels', plainDriver, 0],
  ['whole plans', planDriver, 1],
])('an outsider’s backend that takes %s', (_form, createDriver, neighbour) => {
  const whole = isDrawn(neighbour) ? test : test.skip;
  whole(
    'passes conformance; its fused kernels ran; ops that it lacks are counted as not supported',
    async () => {
      const report = await runConformance({ createDriver, createBackend });
      if (report.failed > 0) throw new Error(formatReport(report));
      expect(report.passed).toBeGreaterThan(100);
      expect(fused(report, 'passed')).toEqual(own);
      expect(fused(report, 'not supported')).toEqual(Object.keys(fusedOps).filter((op) => !own.includes(op)));
    },
    400_000,
  );

  const there = existsSync(model('quern-demo.gguf'));
  const name = 'tells the demo model’s story, Q8_0 decoded with a notice and two ops fused';
  if (!there) test.skip(`${name} (packages/demo-model/model/quern-demo.gguf is not there)`, () => {});
  else
    test(name, async () => {
      const { promptIds, greedyIds } = JSON.parse(readFileSync(model('expected.json'), 'utf8'));
      using backend = defineBackend(createDriver());
      const notices: string[] = [];
      const onNotice = (text: string) => notices.push(text);
      const loaded = await loadModel(model('quern-demo.gguf').pathname, { backend, onNotice });
      const options = { temperature: 0, maxTokens: greedyIds.length };
      const { tokens } = await loaded.generate(promptIds, options).result;
      loaded.dispose();
      expect(tokens).toEqual(greedyIds);
      expect(notices.join()).toMatch(/'plain.*' does not read q8_0 natively/);
      for (const op of own) expect(backend.kernelRuns()[op]).toBeGreaterThan(0);
    }, 120_000);
});
