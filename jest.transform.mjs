// TypeScript through swc, with globals as constants of each module: in Jest's sandboxes a look-up of a global goes through
// an interceptor and takes as long as dozens of multiplications; the float64 definitions would mostly look up `Math`.
import swc from '@swc/jest';

/** Nothing that a test may replace (timers, `console`, `process`, `fetch`). */
const names = [
  ...['Math', 'Number', 'Object', 'Array', 'Map', 'Set', 'Promise', 'String', 'BigInt'],
  ...['Float32Array', 'Float64Array', 'Uint8Array', 'Uint16Array', 'Uint32Array', 'Int32Array'],
];

/** Perhaps a declaration of one of them: the module keeps that name. */
const declared = new RegExp(
  `(?:\\b(?:class|function|const|let|var|import|as)\\s+|[{,]\\s*)(${names.join('|')})\\b(?!\\s*[(.:])`,
  'g',
);

/** In the keys of Jest's cache: changes with the prelude. */
export const preludeVersion = 'globals-2';

export function prelude(code) {
  const own = new Set(Array.from(code.matchAll(declared), ([, name]) => name));
  return `const { ${names.filter((name) => !own.has(name)).join(', ')} } = globalThis; `;
}

const withPrelude = (result) => ({ ...result, code: prelude(result.code) + result.code });

export default {
  createTransformer(options) {
    const inner = swc.createTransformer(options);
    return {
      ...inner,
      getCacheKey: (...args) => `${preludeVersion}-${inner.getCacheKey(...args)}`,
      process: (...args) => withPrelude(inner.process(...args)),
      processAsync: async (...args) => withPrelude(await inner.processAsync(...args)),
    };
  },
};
