// Applications that take Quern's files along, to be run elsewhere: bundled by webpack, or traced, as Next's standalone output and Vercel do.
import { cpSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { attempt, expectText } from './table.mjs';
import { anyVersion, installed, project, run, story } from './work.mjs';

const part = 'Quern’s packages taken along, run elsewhere';
const quern = ['@quern/core', '@quern/runtime', '@quern/backend-cpu', '@quern/demo-model', '@quern/hub'];

const application = (name, origin, tool) =>
  installed(`whole/${name}`, origin, {
    dependencies: { ...anyVersion(...quern), ...tool },
    copied: ['traced.mjs'],
  });

const load = (folder, name) => createRequire(join(folder, 'package.json'))(name);

/** Runs the program; its argument is the file that it writes. */
async function tell(cwd, program, env = {}) {
  expectText((await run(process.execPath, [program, join(cwd, 'q4.gguf')], { cwd, env })).stdout, story);
}

async function webpack(origin) {
  const folder = await application('webpack', origin, { webpack: '5' });
  const out = project('whole/webpack-out');
  const options = {
    mode: 'production',
    target: 'node20',
    context: folder,
    entry: './traced.mjs',
    experiments: { outputModule: true },
    output: { path: out, filename: 'bundle.mjs', module: true, chunkFormat: 'module' },
    optimization: { minimize: false },
  };
  const stats = await new Promise((resolve, reject) =>
    load(folder, 'webpack')(options, (error, made) => (error ? reject(error) : resolve(made))),
  );
  if (stats.hasErrors()) throw new Error(stats.toString('errors-only'));
  const addon = join(folder, 'node_modules/@quern/backend-cpu-linux-x64-gnu/backend_cpu.node');
  await tell(out, 'bundle.mjs', { QUERN_CPU_BINARY: addon });
}

async function traced(origin) {
  const folder = await application('traced', origin, { '@vercel/nft': '*' });
  const { nodeFileTrace } = load(folder, '@vercel/nft');
  const { fileList } = await nodeFileTrace([join(folder, 'traced.mjs')], { base: folder });
  const out = project('whole/traced-out');
  for (const file of fileList) cpSync(join(folder, file), join(out, file), { recursive: true });
  await tell(out, 'traced.mjs');
}

const wholeCase = (name, seconds, project, act) => ({
  name: `whole/${name}`,
  seconds,
  act: ({ origin }) => attempt({ part, project }, () => act(origin)),
});

export const wholeCases = [
  wholeCase('webpack', 5, 'webpack 5, nothing external but the addon', webpack),
  wholeCase('traced', 2, 'files traced by @vercel/nft', traced),
];
