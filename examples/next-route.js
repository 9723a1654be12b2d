// OpenAI's API inside a Next application: this file is app/v1/[...path]/route.js. In next.config.js:
//   serverExternalPackages: ['@quern/runtime', '@quern/server', '@quern/backend-cpu', '@quern/demo-model']
import { loadModel } from '@quern/runtime';
import { createHandler } from '@quern/server';

export const runtime = 'nodejs';

/** Once per process: `next dev` evaluates this file again after each change. */
async function load() {
  const model = await loadModel(process.env.MODEL ?? 'demo', { sequences: 4 });
  return createHandler({ models: { demo: model } });
}
globalThis.quern ??= load();

const handle = async (request) => (await globalThis.quern).fetch(request);

export { handle as GET, handle as POST };
