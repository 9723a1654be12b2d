import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

export const demo = fileURLToPath(
  new URL('../../packages/demo-model/model/quern-demo.gguf', import.meta.url),
);

/** The model (first argument; default: the demo model), and numbers given as --name=value. */
export function readArguments(defaults, flags = {}) {
  const options = Object.fromEntries(Object.keys(defaults).map((name) => [name, { type: 'string' }]));
  const { values, positionals } = parseArgs({ options: { ...options, ...flags }, allowPositionals: true });
  const path = positionals[0] ?? demo;
  if (!existsSync(path)) {
    console.error(`there is no model at ${path}; make one with: quern bench --make model.gguf`);
    process.exit(2);
  }
  const numbers = Object.entries(defaults).map(([name, value]) => [name, Number(values[name] ?? value)]);
  return { path, ...values, ...Object.fromEntries(numbers) };
}

/** A prompt of `count` tokens that every vocabulary has. */
export const promptOf = (count, vocabulary) =>
  Array.from({ length: count }, (_, i) => (7 * i + 3) % Math.min(200, vocabulary));
