// Electron's main process: a model in a utility process, so that neither windows nor the main process wait for it. Start it with
// `npx electron examples/electron/main.js [MODEL]`. package.json of an application: asarUnpack the packages of Quern, as every addon.
import { fileURLToPath } from 'node:url';
import { app, MessageChannelMain, utilityProcess } from 'electron';

const script = fileURLToPath(new URL('./model-process.js', import.meta.url));

/**
 * One answer, in pieces. `port1` could go to a window instead: `window.webContents.postMessage('answer', null, [port1])`.
 * @param {Electron.UtilityProcess} models
 * @param {string} prompt
 * @param {(text: string) => void} show
 */
function ask(models, prompt, show) {
  const { port1, port2 } = new MessageChannelMain();
  models.postMessage({ prompt }, [port2]);
  const ended = new Promise((resolve, reject) => {
    port1.on('message', ({ data }) => {
      if (data.text !== undefined) show(data.text);
      else if (data.error !== undefined) reject(new Error(data.error));
      else resolve(data.reason);
    });
    models.once('exit', (code) => reject(new Error(`the model's process ended (exit ${code})`)));
  });
  port1.start();
  return ended.finally(() => port1.close());
}

await app.whenReady();
const models = utilityProcess.fork(script, [process.argv[2] ?? 'demo'], { serviceName: 'Quern' });
try {
  console.log(`\n${await ask(models, 'Once upon a time', (text) => process.stdout.write(text))}`);
} finally {
  models.kill();
  app.quit();
}
