#!/usr/bin/env node
// `npx quern-backend-cpu build`: compiles the addon on this machine when no prebuilt one fits.
// cmake-js and the headers are fetched only now, so an ordinary install stays small.
import { spawnSync } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

function run(command, args, env = {}) {
  const { status, error } = spawnSync(command, args, {
    stdio: 'inherit',
    env: { ...process.env, ...env },
    shell: process.platform === 'win32',
  });
  if (error) console.error(`${command} could not be started: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

const [task, ...options] = process.argv.slice(2);
if (task === 'build') {
  const packages = ['cmake-js@8', 'node-addon-api@8', 'node-api-headers@1'].map(
    (name) => `--package=${name}`,
  );
  run('npx', ['--yes', ...packages, '--', 'node', fileURLToPath(import.meta.url), 'build-here', ...options]);
} else if (task === 'build-here') {
  const bin = process.env.PATH.split(delimiter)[0]; // npx puts <its cache>/node_modules/.bin first
  run('cmake-js', ['build', '-d', root, ...options], { NODE_PATH: dirname(bin) });
} else {
  console.error('usage: quern-backend-cpu build [cmake-js options]');
  process.exit(2);
}
