// Lets every peer of ours begin at the version that it stands beside: `node tools/set-peers.mjs`, part of
// `npm run version-packages`. A package manager then refuses an older core under a newer package. The range stays open to
// the next major version: with a narrower one changesets would answer each minor version of core with a major one of all
// packages. A newer core is checked at run time (contractVersion).
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { root } from './setup.mjs';

const pathOf = (folder) => `${root}packages/${folder}/package.json`;
const manifests = new Map(
  readdirSync(`${root}packages`).map((folder) => [folder, JSON.parse(readFileSync(pathOf(folder), 'utf8'))]),
);
const versions = new Map([...manifests.values()].map(({ name, version }) => [name, version]));

/** The range of a peer of ours: '>=0.1.0 <1'. */
export const peerRange = (name) => {
  const version = versions.get(name);
  return `>=${version} <${Number(version.split('.')[0]) + 1}`;
};

/** `{ folder, name, has, needs }` of each peer of ours with another range. */
export const wrongPeers = () =>
  [...manifests].flatMap(([folder, { peerDependencies = {} }]) =>
    Object.entries(peerDependencies)
      .filter(([name]) => versions.has(name))
      .map(([name, has]) => ({ folder, name, has, needs: `workspace:${peerRange(name)}` }))
      .filter(({ has, needs }) => has !== needs),
  );

if (import.meta.url === `file://${process.argv[1]}`)
  for (const { folder, name, needs } of wrongPeers()) {
    const manifest = manifests.get(folder);
    manifest.peerDependencies[name] = needs;
    writeFileSync(pathOf(folder), `${JSON.stringify(manifest, null, 2)}\n`);
  }
