// A local registry of the packed packages, so that they are installed by name, as by users. Other packages come from
// npm's configured registry. It takes publications of `npm publish`, too.
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

/** A version of a package, for its tarball. `tag`: the tag of npm that names it */
function versionOf(bytes, file, origin, tag = 'latest') {
  const manifest = manifestOf(bytes);
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  return { file, bytes, tag, manifest: { ...manifest, dist: { tarball: `${origin}/-/${file}`, integrity } } };
}

/** What the registry says of a package; undefined: it has none of the name. The last version with a tag has the tag. */
function packumentOf(packages, name) {
  const ofName = packages.filter(({ manifest }) => manifest.name === name);
  if (ofName.length === 0) return undefined;
  const tags = Object.fromEntries(ofName.map(({ tag, manifest }) => [tag, manifest.version]));
  const versions = Object.fromEntries(ofName.map(({ manifest }) => [manifest.version, manifest]));
  return { name, 'dist-tags': tags, versions };
}

async function bodyOf(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}

/** `npm publish`: one version with its tarball. Returns the status and npm's answer. */
async function publish(packages, request, origin) {
  const { name, versions, _attachments: attachments, 'dist-tags': tags } = await bodyOf(request);
  const [version] = Object.keys(versions);
  if (packumentOf(packages, name)?.versions[version])
    return [403, { error: `You cannot publish over the previously published versions: ${version}.` }];
  const bytes = Buffer.from(Object.values(attachments)[0].data, 'base64');
  const file = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
  packages.push(versionOf(bytes, file, origin, Object.keys(tags)[0]));
  return [201, { ok: true }];
}

/** Serves the tarballs of a folder (absent: none yet), and takes publications; other packages come from `upstream`, if given. */
export async function serve(folder, upstream) {
  const packages = [];
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://registry').pathname).slice(1);
    const packument = packumentOf(packages, path);
    const tarball = packages.find(({ file }) => path === `-/${file}`);
    response.setHeader('cache-control', 'no-store');
    const json = (status, body) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.method === 'PUT') json(...(await publish(packages, request, origin)));
    else if (packument) json(200, packument);
    else if (tarball) response.end(tarball.bytes);
    else if (!upstream || path.startsWith('@quern/')) json(404, { error: 'not found' });
    else response.writeHead(307, { location: new URL(request.url.slice(1), upstream).href }).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const files = folder ? readdirSync(folder).filter((file) => file.endsWith('.tgz')) : [];
  for (const file of files.sort()) packages.push(versionOf(readFileSync(join(folder, file)), file, origin));
  return { origin, close: () => server.close() };
}
