// Applications that a bundler makes, with Quern's packages left out of the bundle as docs/guide/bundlers.md says, and a Next application.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attempt, expectText } from './table.mjs';
import { anyVersion, installed as installedBy, run, story } from './work.mjs';

const part = 'Bundles, Quern’s packages external';
const quern = ['@quern/core', '@quern/runtime', '@quern/backend-cpu', '@quern/demo-model'];

const installed = (name, dependencies, origin, copied = []) =>
  installedBy(`bundles/${name}`, origin, {
    dependencies: { ...anyVersion(...quern), ...dependencies },
    copied,
  });

const bin = (folder, name) => join(folder, 'node_modules/.bin', name);

/** Runs the bundle. */
async function tell(folder, file) {
  expectText((await run(process.execPath, [file], { cwd: folder })).stdout, story);
}

async function esbuild(format, origin) {
  const folder = await installed(`esbuild-${format}`, { esbuild: '*' }, origin, ['story.mjs', 'story.cjs']);
  const [entry, out] = format === 'esm' ? ['story.mjs', 'out.mjs'] : ['story.cjs', 'out.cjs'];
  const flags = [
    '--bundle',
    '--platform=node',
    '--packages=external',
    `--format=${format}`,
    `--outfile=${out}`,
  ];
  await run(bin(folder, 'esbuild'), [entry, ...flags], { cwd: folder });
  await tell(folder, out);
}

async function vite(origin) {
  const folder = await installed('vite', { vite: '*' }, origin, ['story.mjs']);
  const config =
    "export default { build: { ssr: 'story.mjs', target: 'node20', rollupOptions: { external: [/^@quern/] } } };";
  writeFileSync(join(folder, 'vite.config.mjs'), config);
  await run(bin(folder, 'vite'), ['build'], { cwd: folder });
  await tell(folder, 'dist/story.mjs');
}

const webpackConfig = `export default {
  mode: 'production', target: 'node20', entry: './story.mjs',
  externals: [/^@quern\\//], externalsType: 'import',
  experiments: { outputModule: true },
  output: { filename: 'out.mjs', module: true, chunkFormat: 'module' },
};`;

async function webpack(origin) {
  const folder = await installed('webpack', { webpack: '5', 'webpack-cli': '*' }, origin, ['story.mjs']);
  writeFileSync(join(folder, 'webpack.config.mjs'), webpackConfig);
  await run(bin(folder, 'webpack'), [], { cwd: folder });
  await tell(folder, 'dist/out.mjs');
}

const nextFiles = {
  'next.config.mjs':
    "export default { serverExternalPackages: ['@quern/runtime', '@quern/backend-cpu', '@quern/demo-model'] };",
  'app/layout.js': 'export default ({ children }) => <html lang="en"><body>{children}</body></html>;',
  'app/story/route.js': `import { loadModel } from '@quern/runtime';

    export const dynamic = 'force-dynamic';
    export async function GET() {
      const model = await loadModel('demo', { backend: 'cpu' });
      const { text } = await model.generate('Once upon a time', { maxTokens: 8, temperature: 0 }).result;
      model.dispose();
      return new Response(text);
    }`,
};

/** Starts the built application on a free port, and asks for its story. */
async function askNext(folder) {
  const args = [join(folder, 'node_modules/next/dist/bin/next'), 'start', '-p', '0', '-H', '127.0.0.1'];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    let said = '';
    for await (const text of child.stdout) {
      said += text;
      const [, origin] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(said) ?? [];
      if (origin) return await (await fetch(`${origin}/story`)).text();
    }
    throw new Error(`next start ended: ${said}`);
  } finally {
    child.kill();
    if (child.exitCode === null) await once(child, 'exit');
  }
}

async function next(origin) {
  const folder = await installed('next', { next: '*', react: '*', 'react-dom': '*' }, origin);
  mkdirSync(join(folder, 'app/story'), { recursive: true });
  for (const [file, text] of Object.entries(nextFiles)) writeFileSync(join(folder, file), text);
  await run(bin(folder, 'next'), ['build'], { cwd: folder, env: { NEXT_TELEMETRY_DISABLED: '1' } });
  expectText(await askNext(folder), story);
}

const bundlerCase = (name, seconds, project, act) => ({
  name: `bundlers/${name}`,
  seconds,
  act: ({ origin }) => attempt({ part, project }, () => act(origin)),
});

export const bundlerCases = [
  bundlerCase('esbuild-esm', 2, 'esbuild, ESM', (origin) => esbuild('esm', origin)),
  bundlerCase('esbuild-cjs', 2, 'esbuild, CommonJS', (origin) => esbuild('cjs', origin)),
  bundlerCase('vite', 3, 'Vite, `build.ssr`', vite),
  bundlerCase('webpack', 5, 'webpack 5, ESM', webpack),
  bundlerCase('next', 20, 'Next, `next build` and `next start`', next),
];
