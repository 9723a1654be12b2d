import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

interface Bundler {
  build(options: object): Promise<{ readonly outputFiles: readonly { readonly text: string }[] }>;
}

let script: Promise<string> | undefined;

/** The device thread's program: its files and those of core, from their sources, as one script. */
export function deviceScript(): Promise<string> {
  script ??= bundle();
  return script;
}

async function bundle(): Promise<string> {
  const tsup = createRequire(realpathSync(here('../../../../node_modules/tsup/package.json')));
  const { build } = tsup('esbuild') as Bundler;
  const { outputFiles } = await build({
    entryPoints: [here('./thread/main.ts')],
    ...{ bundle: true, write: false, platform: 'node', format: 'cjs', target: 'node20' },
    define: { 'import.meta.url': JSON.stringify(import.meta.url) }, // a script has none
    alias: {
      '@quern/core/testing': here('../../../core/src/testing/index.ts'),
      '@quern/core': here('../../../core/src/index.ts'),
      '@quern/backend-reference': here('../../../backend-reference/src/index.ts'),
    },
  });
  return outputFiles[0]!.text;
}
