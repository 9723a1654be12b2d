// A local registry of the packed packages, so that they are installed by name, as by users. Other packages come from
// npm's configured registry.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** package/package.json of a tarball: 512 header bytes before each file, its octal size at byte 124. */
function manifestOf(tarball) {
  const tar = gunzipSync(tarball);
  for (let at = 0; at < tar.length; ) {
    const text = (from, to) => tar.toString('utf8', at + from, at + to).replace(/\0.*$/s, '');
    const size = Number.parseInt(text(124, 136), 8) || 0;
    if (text(0, 100) === 'package/package.json')
      return JSON.parse(tar.subarray(at + 512, at + 512 + size).toString());
    at += 512 + 512 * Math.ceil(size / 512);
  }
  throw new Error('a tarball without package.json');
}

function publish(folder, file, origin) {
  const bytes = readFileSync(join(folder, file));
  const manifest = manifestOf(bytes);
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  return { file, bytes, manifest: { ...manifest, dist: { tarball: `${origin}/-/${file}`, integrity } } };
}

/** What the registry says of a package; undefined: it has none of the name. The last file of the folder is the latest version. */
function packumentOf(packages, name) {
  const ofName = packages.filter(({ manifest }) => manifest.name === name).map(({ manifest }) => manifest);
  if (ofName.length === 0) return undefined;
  const versions = Object.fromEntries(ofName.map((manifest) => [manifest.version, manifest]));
  return { name, 'dist-tags': { latest: ofName.at(-1).version }, versions };
}

/** Serves a folder of tarballs; other packages come from `upstream`. */
export async function serve(folder, upstream) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://registry').pathname).slice(1);
    const packument = packumentOf(packages, path);
    const tarball = packages.find(({ file }) => path === `-/${file}`);
    response.setHeader('cache-control', 'no-store');
    if (packument) response.setHeader('content-type', 'application/json').end(JSON.stringify(packument));
    else if (tarball) response.end(tarball.bytes);
    else if (path.startsWith('@quern/')) response.writeHead(404).end();
    else response.writeHead(307, { location: new URL(request.url.slice(1), upstream).href }).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const files = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
  const packages = files.sort().map((file) => publish(folder, file, origin));
  return { origin, close: () => server.close() };
}
