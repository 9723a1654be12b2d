import { describeDevices, loadModel } from '@quern/runtime';
import { expect, test } from 'vitest';

test('the demo model writes', async () => {
  await describeDevices();
  const model = await loadModel('demo', { backend: 'cpu' });
  const { text } = await model.generate('Once upon a time', { maxTokens: 8, temperature: 0 }).result;
  model.dispose();
  expect(text).toMatch(/^, in the (little|sleepy) village/);
}, 120_000);
