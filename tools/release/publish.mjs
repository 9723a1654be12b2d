// Publishes tarballs to a registry with npm, in an order in which whatever is there can be installed, and checks what is there.
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

export const isLoopback = (registry) =>
  ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(registry).hostname);

/** npm sends no publication without a token; a registry on this machine takes any. */
function settingsFor(registry) {
  const folder = mkdtempSync(join(tmpdir(), 'quern-publish-'));
  const file = join(folder, 'npmrc');
  writeFileSync(file, `//${new URL(registry).host}/:_authToken=local\n`);
  return { env: { npm_config_userconfig: file }, remove: () => rmSync(folder, { recursive: true }) };
}

/** Why packages cannot be published with provenance, which names their repository; undefined: they can. */
export function repositoryFault(packages) {
  const wrong = packages.filter(
    ({ manifest }) => !/^git\+https:\/\/(?!example\.)/.test(manifest.repository?.url ?? ''),
  );
  if (wrong.length === 0) return undefined;
  const { name, repository } = wrong[0].manifest;
  return `${wrong.length} packages name no repository that exists (${name}: ${repository?.url ?? 'none'}): set repository.url first, as docs/releasing.md shows`;
}

/** At a terminal, where npm asks for the second factor. */
async function runHere(args, env) {
  const child = spawn('npm', args, { env, stdio: 'inherit' });
  const [status] = await once(child, 'exit');
  if (status !== 0) throw new Error(`npm ${args[0]} ended with ${status}`);
  return '';
}

/** npm's output; an error has npm's words. */
async function outputOf(args, env) {
  const { stdout } = await promisify(execFile)('npm', args, { env, maxBuffer: 1 << 26 });
  return stdout.trim();
}

/** Calls `act` with a function that runs npm with a registry. */
export async function withNpm(registry, act) {
  const isLocal = isLoopback(registry);
  const local = isLocal ? settingsFor(registry) : { env: {}, remove: () => {} };
  const env = { ...process.env, npm_config_update_notifier: 'false', ...local.env };
  const npm = (...args) => {
    const run = isLocal || args[0] === 'view' ? outputOf : runHere;
    return run([...args, '--registry', registry], env);
  };
  try {
    return await act(npm);
  } finally {
    local.remove();
  }
}

export const integrityOf = (tarball) =>
  `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;

/** The integrity of a version on the registry; undefined: it is not there. Throws where the registry cannot be asked. */
async function published(npm, { name, version }) {
  try {
    const text = await npm('view', `${name}@${version}`, 'dist.integrity', '--json', '--prefer-online');
    return text === '' ? undefined : JSON.parse(text);
  } catch (error) {
    if (/\bE404\b/.test(error.stderr ?? '')) return undefined;
    throw error;
  }
}

/** A version with a hyphen is a prerelease: `latest` must not be it. */
export const tagOf = (version, tag) => tag ?? (version.includes('-') ? 'next' : 'latest');

const commandOf = ({ tarball, manifest: { version } }, { tag, provenance, staged }) => [
  ...(staged ? ['stage', 'publish'] : ['publish']),
  tarball,
  '--access',
  'public',
  '--tag',
  tagOf(version, tag),
  ...(provenance ? ['--provenance'] : []),
];

/** Packages of which the registry lacks this version. */
export async function missingFrom(npm, packages) {
  const missing = [];
  for (const each of packages) if (!(await published(npm, each.manifest))) missing.push(each);
  return missing;
}

/**
 * Publishes what the registry lacks. The first failure ends it: packages that need the failed one must not follow. Run again,
 * it goes on where it ended.
 * `packages`: `{ manifest, tarball }` in order; `say` gets a line for each
 */
export async function publishAll(npm, packages, options, say) {
  const missing = await missingFrom(npm, packages);
  for (const each of packages) {
    const label = `${each.manifest.name}@${each.manifest.version}`;
    if (!missing.includes(each)) say(`${label} is there already`);
    else {
      await npm(...commandOf(each, options));
      say(
        `${label} ${options.staged ? 'staged' : 'published'} as ${tagOf(each.manifest.version, options.tag)}`,
      );
    }
  }
  return missing;
}

/** Faults of what was just published: absent, or other bytes. A registry may take a while to show a version: `waits` in ms. */
export async function verify(npm, packages, waits = [0, 5_000, 15_000, 60_000]) {
  let faults = [];
  for (const wait of waits) {
    await sleep(wait);
    faults = [];
    for (const { manifest, tarball } of packages) {
      const found = await published(npm, manifest);
      if (found !== integrityOf(tarball))
        faults.push(
          `${manifest.name}@${manifest.version}: the registry has ${found ?? 'nothing'}, not ${integrityOf(tarball)}`,
        );
    }
    if (faults.length === 0) return [];
  }
  return faults;
}
