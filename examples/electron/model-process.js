// The utility process of main.js: loads the model named by its argument, and answers each message through the port that comes with it.
import { loadModel } from '@quern/runtime';

const model = loadModel(process.argv[2] ?? 'demo');

/**
 * @param {string} prompt
 * @param {Electron.MessagePortMain} port
 */
async function answer(prompt, port) {
  try {
    const generation = (await model).generate(prompt, { maxTokens: 64 });
    for await (const { text } of generation) port.postMessage({ text });
    port.postMessage({ reason: (await generation.result).reason });
  } catch (error) {
    port.postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
}

process.parentPort.on('message', ({ data, ports: [port] }) => {
  if (port) void answer(data.prompt, port);
});
