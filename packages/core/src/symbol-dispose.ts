/**
 * Node 20 and 22 define `Symbol.dispose` only in the main realm: contexts of node:vm (vitest's vmThreads, Jest) lack it.
 * `Symbol.for('Symbol.dispose')` is what esbuild's `using` looks for there.
 */
const missing = { dispose: Symbol.for('Symbol.dispose'), asyncDispose: Symbol.for('Symbol.asyncDispose') };
for (const [name, value] of Object.entries(missing))
  if (!(name in Symbol)) Object.defineProperty(Symbol, name, { value });

export {};
