// Other ways to install, bundle and test the packed packages: each is a small project that prints a text of the demo model.
// Those of `heavy` need large installs and run with `node tools/packed/test.mjs --setups` alone.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { packageManager, root } from '../setup.mjs';

const files = new URL('./setups/', import.meta.url).pathname;
const packages = ['@quern/runtime', '@quern/backend-cpu', '@quern/demo-model'];
const story = /^, in the little\b/m;

/** A new project with the given files of setups/, and with the packages as its dependencies. */
function project(work, name, { copied, manifest = {} }) {
  const folder = join(work, 'setups', name);
  mkdirSync(folder, { recursive: true });
  for (const file of copied) cpSync(join(files, file), join(folder, file));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, private: true, ...manifest }));
  return folder;
}

const dependencies = (more = []) => Object.fromEntries([...packages, ...more].map((name) => [name, '*']));

/** In the application that is installed anyhow: a realm of its own, and Jest, the repository's. */
async function realms({ app, run }) {
  cpSync(join(files, 'other-realm.cjs'), join(app, 'other-realm.cjs'));
  return run(process.execPath, ['other-realm.cjs']);
}

async function jest({ app, run }) {
  cpSync(join(files, 'jest.test.cjs'), join(app, 'jest.test.cjs'));
  const config = JSON.stringify({ rootDir: app, testMatch: ['**/jest.test.cjs'], transform: {} });
  const bin = join(root, 'node_modules/jest/bin/jest.js');
  const { stderr } = await run(process.execPath, [bin, '--config', config]);
  return { stdout: stderr.includes('✓ the demo model writes') ? ', in the little' : stderr };
}

/** webpack, nothing external; run elsewhere. */
async function webpack({ app, work, run, npmInstall, origin }) {
  const folder = project(work, 'webpack', { copied: [] });
  await npmInstall(origin, ['webpack@5'], { cwd: folder });
  const pack = createRequire(join(folder, 'package.json'))('webpack');
  cpSync(join(files, 'traced.mjs'), join(app, 'traced.mjs'));
  const output = { path: join(folder, 'out'), filename: 'bundle.mjs', module: true, chunkFormat: 'module' };
  const optimization = { minimize: false };
  const options = {
    mode: 'production',
    target: 'node20',
    context: app,
    entry: './traced.mjs',
    output,
    optimization,
  };
  const stats = await new Promise((resolve, reject) =>
    pack({ ...options, experiments: { outputModule: true } }, (error, made) =>
      error ? reject(error) : resolve(made),
    ),
  );
  if (stats.hasErrors()) return { stdout: stats.toString('errors-only') };
  const addon = join(app, 'node_modules/@quern/backend-cpu-linux-x64-gnu/backend_cpu.node');
  return run(process.execPath, ['out/bundle.mjs', join(folder, 'q4.gguf')], {
    cwd: folder,
    env: { QUERN_CPU_BINARY: addon },
  });
}

/** What Next's standalone output and Vercel do: the traced files alone, in another folder. */
async function traced({ app, work, run, npmInstall, origin }) {
  const folder = project(work, 'nft', { copied: [] });
  await npmInstall(origin, ['@vercel/nft'], { cwd: folder });
  const { nodeFileTrace } = createRequire(join(folder, 'package.json'))('@vercel/nft');
  cpSync(join(files, 'traced.mjs'), join(app, 'traced.mjs'));
  const { fileList } = await nodeFileTrace([join(app, 'traced.mjs')], { base: app });
  for (const file of fileList) cpSync(join(app, file), join(folder, 'out', file), { recursive: true });
  return run(process.execPath, ['traced.mjs', join(folder, 'q4.gguf')], { cwd: join(folder, 'out') });
}

/** Yarn 1 installs no peers: @quern/runtime brings core. */
async function yarn1({ work, run, npmInstall, origin }) {
  const tool = project(work, 'yarn1-tool', { copied: [] });
  await npmInstall(origin, ['yarn@1'], { cwd: tool });
  const manifest = { dependencies: dependencies() };
  const folder = project(work, 'yarn1', { copied: ['story.mjs'], manifest });
  writeFileSync(join(folder, '.yarnrc'), `registry "${origin}"\n`);
  await run(join(tool, 'node_modules/.bin/yarn'), ['install', '--no-lockfile', '--ignore-scripts'], {
    cwd: folder,
    env: { YARN_CACHE_FOLDER: join(folder, 'cache') }, // the machine's may hold other packages of these versions
  });
  return run(process.execPath, ['story.mjs'], { cwd: folder });
}

async function pnpmWithoutPeers({ work, run, origin, home }) {
  const manifest = { dependencies: dependencies() };
  const folder = project(work, 'pnpm-peers', { copied: ['story.mjs'], manifest });
  writeFileSync(join(folder, '.npmrc'), `registry=${origin}\n`);
  writeFileSync(join(folder, 'pnpm-workspace.yaml'), 'autoInstallPeers: false\n');
  await run('npx', ['--yes', packageManager, 'install'], { cwd: folder, env: { HOME: home } });
  return run(process.execPath, ['story.mjs'], { cwd: folder });
}

/** Yarn's Plug'n'Play: no node_modules. */
async function plugAndPlay({ work, run, npmInstall, origin }) {
  const tool = project(work, 'yarn4-tool', { copied: [] });
  await npmInstall(origin, ['@yarnpkg/cli-dist@4'], { cwd: tool });
  const yarn = join(tool, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js');
  const manifest = { dependencies: dependencies(['@quern/core']) };
  const folder = project(work, 'yarn4', { copied: ['story.mjs'], manifest });
  writeFileSync(
    join(folder, '.yarnrc.yml'),
    `npmRegistryServer: "${origin}"\nunsafeHttpWhitelist: ["127.0.0.1"]\nenableGlobalCache: false\nenableTelemetry: false\nnpmMinimalAgeGate: 0\n`,
  );
  writeFileSync(join(folder, 'yarn.lock'), ''); // a project of its own
  const { NODE_EXTRA_CA_CERTS: authorities = '' } = process.env;
  const env = {
    YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
    ...(authorities && { YARN_HTTPS_CA_FILE_PATH: authorities }),
  };
  await run(process.execPath, [yarn, 'install'], { cwd: folder, env });
  return run(process.execPath, [yarn, 'node', 'story.mjs'], { cwd: folder });
}

/** Deno over a node_modules of links, pnpm's. */
async function deno(context) {
  const { work, run, npmInstall, origin } = context;
  const tool = project(work, 'deno-tool', { copied: [] });
  await npmInstall(origin, ['deno@2'], { cwd: tool });
  await pnpmWithoutPeers(context);
  const folder = join(work, 'setups', 'pnpm-peers');
  return run(join(tool, 'node_modules/.bin/deno'), ['run', '--allow-all', 'story.mjs'], { cwd: folder });
}

async function vitest({ work, run, npmInstall, origin }) {
  const copied = ['vitest.test.mjs'];
  const folder = project(work, 'vitest', { copied, manifest: { dependencies: dependencies() } });
  await npmInstall(origin, ['vitest'], { cwd: folder });
  const args = ['run', '--pool=vmThreads', '--reporter=verbose'];
  const { stdout } = await run(join(folder, 'node_modules/.bin/vitest'), args, { cwd: folder });
  return { stdout: /1 passed/.test(stdout) ? ', in the little' : stdout };
}

const light = { realms, jest, traced, webpack, yarn1, pnpmWithoutPeers };
const heavy = { plugAndPlay, deno, vitest };

/** Runs the set-ups; prints the seconds of each. */
export async function checkSetups(context, { attempt, expectText, all }) {
  for (const [name, act] of Object.entries({ ...light, ...(all && heavy) })) {
    const start = Date.now();
    await attempt(`set-up: ${name}`, async () => expectText((await act(context)).stdout, story));
    console.log(`   ${((Date.now() - start) / 1000).toFixed(1)} s  set-up: ${name}`);
  }
}
