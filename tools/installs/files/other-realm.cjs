// A program in a realm of its own, as test runners make (Jest, vitest's vmThreads): Node 20 and 22 have no Symbol.dispose
// there. Prints a text of the demo model.
const { readFileSync } = require('node:fs');
const nodeModule = require('node:module');
const { dirname } = require('node:path');
const vm = require('node:vm');

const shared = Object.getOwnPropertyNames(globalThis).filter(
  (name) => !(name in vm.runInNewContext('globalThis')),
);
const context = vm.createContext(Object.fromEntries(shared.map((name) => [name, globalThis[name]])));
const loaded = new Map();

/** `require` of the realm; addons and Node's own modules come from the main one. */
function requireFrom(from) {
  const outer = nodeModule.createRequire(from);
  const inner = (name) => {
    const file = outer.resolve(name);
    if (/^(node:)?module$/.test(file)) return { ...nodeModule, createRequire: requireFrom };
    return /\.c?js$/.test(file) ? load(file) : outer(name);
  };
  return Object.assign(inner, { resolve: outer.resolve });
}

function load(file) {
  if (loaded.has(file)) return loaded.get(file).exports;
  const module = { exports: {} };
  loaded.set(file, module);
  const names = ['exports', 'require', 'module', '__filename', '__dirname'];
  const run = vm.compileFunction(readFileSync(file, 'utf8'), names, {
    filename: file,
    parsingContext: context,
  });
  run(module.exports, requireFrom(file), module, file, dirname(file));
  return module.exports;
}

async function main() {
  const { loadModel, describeDevices } = requireFrom(__filename)('@quern/runtime');
  await describeDevices();
  const model = await loadModel('demo', { backend: 'cpu' });
  const { text } = await model.generate('Once upon a time', { maxTokens: 8, temperature: 0 }).result;
  model[vm.runInContext('Symbol.dispose', context)]();
  console.log(text);
}
main();
