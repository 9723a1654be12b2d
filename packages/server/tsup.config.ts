import { copyFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { defineConfig } from 'tsup';
import { builtins, licences } from '../../tools/bundling/bundled-dependencies.js';
import { library } from '../../tsup.preset.js';

const { resolve } = createRequire(import.meta.url);
const parts = { Counter: 'counter', Gauge: 'gauge', Histogram: 'histogram', Registry: 'registry' };

/** The parts of prom-client that the server imports: its index would bring a push gateway, quantiles and OpenTelemetry. */
const promClient: typeof builtins = {
  name: 'prom-client',
  setup(build) {
    build.onResolve({ filter: /^prom-client$/ }, ({ path }) => ({ path, namespace: 'parts' }));
    build.onLoad({ filter: /.*/, namespace: 'parts' }, () => ({
      contents: Object.entries(parts)
        .map(([name, file]) => `export { default as ${name} } from 'prom-client/lib/${file}';`)
        .join('\n'),
      resolveDir: process.cwd(),
    }));
  },
};

/** marked is a file of the page (src/routes/page.ts). */
const marked = resolve('marked');
const page: typeof builtins = {
  name: 'page',
  setup: (build) =>
    build.onEnd(() => {
      mkdirSync('dist', { recursive: true });
      copyFileSync(marked, 'dist/marked.js');
    }),
};

export default defineConfig({
  ...library(),
  esbuildPlugins: [builtins, promClient, licences([dirname(dirname(marked))]), page],
});
