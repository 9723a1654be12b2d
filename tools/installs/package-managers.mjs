// Each package manager installs what package.json names from the local registry, without the scripts of packages.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageManager } from '../setup.mjs';
import { tool } from './tools.mjs';
import { npmInstall, run, work } from './work.mjs';

const { execPath: node } = process;
const writeNpmrc = (cwd, origin) => writeFileSync(join(cwd, '.npmrc'), `registry=${origin}\n`);

const pnpm = (settings) => (cwd, origin) => {
  writeNpmrc(cwd, origin);
  writeFileSync(join(cwd, 'pnpm-workspace.yaml'), `packages: []\n${settings}`);
  const store = join(work, 'pnpm-store');
  const args = ['--yes', packageManager, 'install', '--ignore-scripts', '--store-dir', store];
  return run('npx', args, { cwd });
};

async function yarn1(cwd, origin) {
  writeFileSync(join(cwd, '.yarnrc'), `registry "${origin}"\n`);
  return run(node, [await tool('yarn-1'), 'install', '--no-lockfile', '--ignore-scripts'], { cwd });
}

const yarn4 = (linker) => async (cwd, origin) => {
  const { NODE_EXTRA_CA_CERTS: certificates } = process.env;
  const settings = {
    npmRegistryServer: JSON.stringify(origin),
    unsafeHttpWhitelist: '["127.0.0.1"]',
    enableGlobalCache: false,
    enableTelemetry: false,
    enableScripts: false,
    npmMinimalAgeGate: 0,
    nodeLinker: linker,
    ...(certificates && { httpsCaFilePath: certificates }),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}: ${value}\n`);
  writeFileSync(join(cwd, '.yarnrc.yml'), lines.join(''));
  writeFileSync(join(cwd, 'yarn.lock'), ''); // a project of its own
  const env = { YARN_ENABLE_IMMUTABLE_INSTALLS: 'false' };
  return run(node, [await tool('yarn-4'), 'install'], { cwd, env });
};

async function bun(cwd, origin) {
  writeNpmrc(cwd, origin);
  return run(await tool('bun'), ['install', '--ignore-scripts'], { cwd });
}

async function deno(cwd, origin) {
  writeNpmrc(cwd, origin);
  return run(await tool('deno'), ['install', '--node-modules-dir=auto'], { cwd });
}

/**
 * `install(folder, origin)`. `command()`: what stands before the path of a program instead of a runtime, for those with a way of their own to
 * find packages. `also`: packages that the project must name itself. `onlyHere`: used from this Node alone, not from each runtime.
 * `seconds`: of a processor, with the programs, without the fetch of the runtimes.
 */
export const packageManagers = {
  npm: { name: 'npm', install: npmInstall, seconds: 7 },
  pnpm: { name: 'pnpm', install: pnpm(''), seconds: 7 },
  'pnpm-without-peers': {
    name: 'pnpm, `autoInstallPeers: false`',
    install: pnpm('autoInstallPeers: false\n'),
    onlyHere: true,
    seconds: 2,
  },
  'yarn-1': { name: 'Yarn 1', install: yarn1, seconds: 8 },
  'yarn-4': { name: 'Yarn 4, node_modules', install: yarn4('node-modules'), seconds: 8 },
  'yarn-4-pnp': {
    name: 'Yarn 4, Plug’n’Play',
    install: yarn4('pnp'),
    command: async () => [node, await tool('yarn-4'), 'node'],
    also: ['@quern/core'],
    onlyHere: true,
    seconds: 5,
  },
  bun: { name: 'Bun', install: bun, seconds: 6 },
  deno: { name: 'Deno', install: deno, seconds: 6 },
};
