// An application whose files a tool traces (Next's standalone, Vercel): it names its backend and its model by imports.
import '@quern/backend-cpu/register';
import { demoModelPath } from '@quern/demo-model';
import { loadModel, quantizeModel } from '@quern/runtime';

const model = await loadModel(demoModelPath);
const { text } = await model.generate('Once upon a time', { maxTokens: 8, temperature: 0 }).result;
model.dispose();
await quantizeModel(demoModelPath, process.argv[2], { mix: 'q4_0', threads: 2 });
console.log(text, model.backend);
