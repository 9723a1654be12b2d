// TypeScript through swc, with globals as constants of each module: in Jest's sandboxes a look-up of a global goes through an interceptor and
// takes as long as dozens of multiplications, so that the float64 definitions would mostly look up `Math`.
import swc from '@swc/jest';

/** Nothing that a test may replace (timers, `console`, `process`, `fetch`). */
const names = [
  'Math',
  'Number',
  'Object',
  'Array',
  'Map',
  'Set',
  'Promise',
  'String',
  'BigInt',
  'Float32Array',
  'Float64Array',
];
names.push('Uint8Array', 'Uint16Array', 'Uint32Array', 'Int32Array');

const prelude = (code) => {
  const free = names.filter(
    (name) =>
      !new RegExp(`\\b(class|function|const|let|var|import|as)\\s+${name}\\b|[{,]\\s*${name}\\s*[,}]`).test(
        code,
      ),
  );
  return `const { ${free.join(', ')} } = globalThis; `;
};

export default {
  createTransformer(options) {
    const inner = swc.createTransformer(options);
    const withPrelude = (result) => ({ ...result, code: prelude(result.code) + result.code });
    return {
      ...inner,
      getCacheKey: (...args) => `globals-1-${inner.getCacheKey(...args)}`,
      process: (...args) => withPrelude(inner.process(...args)),
      processAsync: async (...args) => withPrelude(await inner.processAsync(...args)),
    };
  },
};
