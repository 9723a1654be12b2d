// `npm start`: installs, builds, shows the machine's devices, runs the demo model.
import { build, prepare, root, run } from './setup.mjs';

const prompt = 'Once upon a time';
const cli = (...args) => run(process.execPath, [`${root}packages/cli/dist/cli.js`, ...args]);

prepare();
build();
console.error('\nOn this machine:');
cli('devices');
console.error('\nThe demo model tells a story:\n');
cli('run', 'demo', '--raw', '-p', prompt, '-n', '400', '--temperature', '0.7');
console.error(`
Next:
  node packages/cli/dist/cli.js chat demo              talk with it
  node packages/cli/dist/cli.js run MODEL "Hello"      MODEL: a GGUF file, or a folder with config.json and safetensors
  node packages/cli/dist/cli.js --help                 everything else`);
