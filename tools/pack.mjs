// `npm run pack`: builds, and packs what applications install into packs/. Until the packages are on npm,
// this is the way into an application: `npm install ../quern/packs/*.tgz` there.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packAll } from './packed/pack.mjs';
import { platformHere, platforms } from './platforms/platforms.mjs';
import { build, prepare, root } from './setup.mjs';

/** Packages for GPUs are asked for by name: `npm run pack -- cuda`. */
const gpus = ['cuda', 'metal'];
const asked = process.argv.slice(2);

const isWanted = (file) =>
  gpus.every((gpu) => !file.startsWith(`quern-backend-${gpu}-`) || asked.includes(gpu)) && fitsHere(file);

/** Binaries of other platforms cannot be installed here. */
function fitsHere(file) {
  const platform = Object.keys(platforms).find((name) => file.includes(`-${name}-`));
  return platform === undefined || platform === platformHere();
}

prepare();
build({ whole: true });
const [all, packs] = [mkdtempSync(join(tmpdir(), 'quern-packs-')), join(root, 'packs')];
packAll(all);
rmSync(packs, { recursive: true, force: true });
mkdirSync(packs);
for (const file of readdirSync(all).filter(isWanted)) cpSync(join(all, file), join(packs, file));
rmSync(all, { recursive: true });
console.log(
  `${readdirSync(packs).length} packages in ${packs}. In your application: npm install ${join(packs, '*.tgz')}`,
);
