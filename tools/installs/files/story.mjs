// Prints eight tokens of the demo model, both found through package.json files.
import { loadModel } from '@quern/runtime';

const model = await loadModel('demo', { backend: 'cpu' });
const { text } = await model.generate('Once upon a time', { maxTokens: 8, temperature: 0 }).result;
model.dispose();
console.log(text);
