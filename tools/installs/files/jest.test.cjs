// Jest as it comes: CommonJS, without --experimental-vm-modules.
const { loadModel } = require('@quern/runtime');

test('the demo model writes', async () => {
  const model = await loadModel('demo', { backend: 'cpu' });
  const { text } = await model.generate('Once upon a time', { maxTokens: 8, temperature: 0 }).result;
  model.dispose();
  expect(text).toMatch(/^, in the (little|sleepy) village/);
});
