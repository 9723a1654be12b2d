import { describeDevices, loadModel } from '@quern/runtime';
import { expect, test } from 'vitest';

test('the demo model writes', async () => {
  await describeDevices();
  const model = await loadModel('demo', { backend: 'cpu' });
  const { text } = await model.generate('Once upon a time', { maxTokens: 4, temperature: 0 }).result;
  model.dispose();
  expect(text).toMatch(/\w/);
}, 120_000);
