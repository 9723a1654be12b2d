import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import { ApiError } from '../errors.js';
import { here } from '../here.js';

const folder = join(dirname(here), '..', 'page');

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

/** A module of npm that the page imports, one file without imports: beside the built server, or in its package. */
const markdown = 'marked.js';

function pathOf(name: string): string {
  if (name !== markdown) return join(folder, name);
  const built = join(dirname(here), markdown);
  return existsSync(built) ? built : createRequire(here).resolve('marked');
}

/** undefined: there is no such file. */
async function read(name: string): Promise<Buffer | undefined> {
  try {
    return await readFile(pathOf(name));
  } catch {
    return undefined;
  }
}

/** A file of the page. @throws ApiError 404 */
export async function pageFile(name: string): Promise<Response> {
  const type = /^[a-z]+\.[a-z]+$/.test(name) ? types[extname(name)] : undefined;
  const bytes = type && (await read(name));
  if (!type || !bytes) throw new ApiError(404, `the page has no file ${name}`, null, 'unknown_route');
  return new Response(new Uint8Array(bytes), { headers: { ...headers, 'content-type': type } });
}

const html = 'text/html';
const plain = 'text/plain; charset=utf-8';

/** What clients of Ollama look for before their first request. */
const running = 'Ollama is running';

/** GET and HEAD /: the page for browsers, which ask for HTML; Ollama's line for programs. */
export async function root(c: Context, hasPage: boolean): Promise<Response> {
  const wanted = accepts(c, { header: 'Accept', supports: [html], default: plain });
  const response =
    wanted === html && hasPage
      ? await pageFile('index.html')
      : new Response(running, { headers: { 'content-type': plain } });
  response.headers.set('vary', 'Accept');
  return response;
}
