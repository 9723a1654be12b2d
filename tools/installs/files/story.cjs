// As story.mjs, in CommonJS.
const { loadModel } = require('@quern/runtime');

async function main() {
  const model = await loadModel('demo', { backend: 'cpu' });
  const { text } = await model.generate('Once upon a time', { maxTokens: 8, temperature: 0 }).result;
  model.dispose();
  console.log(text);
}
main();
