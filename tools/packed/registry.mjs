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
  const { name, version } = manifest;
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  const dist = { tarball: `${origin}/-/${file}`, integrity };
  return {
    bytes,
    name,
    packument: { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } },
  };
}

/** Serves a folder of tarballs; other packages come from `upstream`. */
export async function serve(folder, upstream) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://registry').pathname).slice(1);
    const one = packages.find(({ name }) => name === path);
    const tarball = packages.find((each) => each.packument.versions && path === `-/${each.file}`);
    response.setHeader('cache-control', 'no-store');
    if (one) response.setHeader('content-type', 'application/json').end(JSON.stringify(one.packument));
    else if (tarball) response.end(tarball.bytes);
    else if (path.startsWith('@quern/')) response.writeHead(404).end();
    else response.writeHead(307, { location: new URL(request.url.slice(1), upstream).href }).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const files = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
  const packages = files.map((file) => ({ file, ...publish(folder, file, origin) }));
  return { origin, close: () => server.close() };
}
