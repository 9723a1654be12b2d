// Which bodies are read as JSON: what programs send, but not what another page can make a browser send.
import { execFile } from 'node:child_process';
import { request } from 'node:http';
import { promisify } from 'node:util';
import { served } from './serving.js';

const server = served();

const ask = { model: 'demo', prompt: 'Once & 50% of +1', max_tokens: 1 };

/** A request with exactly these headers. */
const send = (headers: Record<string, string>, body = JSON.stringify(ask)): Promise<[number, string]> =>
  new Promise((resolve, reject) => {
    const sent = request(`${server.url}/v1/completions`, { method: 'POST', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve([response.statusCode ?? 0, text]));
    });
    sent.on('error', reject).end(body);
  });

const form = { 'content-type': 'application/x-www-form-urlencoded' };

test.each([
  {},
  form,
  { 'content-type': 'text/plain' },
  { 'content-type': 'text/plain;charset=UTF-8', 'sec-fetch-mode': 'cors', 'user-agent': 'node' },
  { 'content-type': 'text/plain;application/json' },
  { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8', 'user-agent': 'curl/8.5.0' },
  { 'content-type': 'application/json; charset=utf-8' },
  { 'content-type': 'application/vnd.api+json' },
  { 'content-type': 'APPLICATION/JSON', 'user-agent': 'Mozilla/5.0', 'sec-fetch-site': 'cross-site' },
] as Record<string, string>[])('%j: JSON is read', async (headers) => {
  expect(await send(headers)).toEqual([200, expect.stringContaining('"text_completion"')]);
});

/** Types that a page of any origin may send without asking the server first. */
const simple: Record<string, string>[] = [
  {},
  form,
  { 'content-type': 'text/plain' },
  { 'content-type': 'text/plain; charset=json' },
  { 'content-type': 'text/plain;application/json' },
  { 'content-type': 'multipart/form-data; boundary=json' },
];
/** What browsers add by themselves, to requests of the server's own page too. */
const marks = (): Record<string, string>[] => [
  { origin: server.url },
  { origin: server.url, 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'none' },
  { referer: 'https://evil.example/page' },
  { cookie: 'a=b' },
  { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)' },
];
test.each(simple)('%j from a browser: 415', async (type) => {
  for (const mark of marks()) {
    const [status, text] = await send({ ...type, ...mark });
    expect([status, JSON.parse(text).error.code]).toEqual([415, 'bad_media_type']);
  }
});

test.each(['multipart/form-data; boundary=json', 'application/xml', 'application/octet-stream', 'json'])(
  '%s of a program: 415',
  async (type) => {
    const [status, text] = await send({ 'content-type': type });
    expect([status, JSON.parse(text).error.code]).toEqual([415, 'bad_media_type']);
  },
);

test('a form that is no JSON: 400 says so', async () => {
  const [status, text] = await send(form, 'prompt=Once&max_tokens=1');
  expect([status, JSON.parse(text).error]).toEqual([
    400,
    expect.objectContaining({ code: 'invalid_json', message: expect.stringContaining('not JSON') }),
  ]);
});

test('curl -d without a header', async () => {
  const run = promisify(execFile);
  const hasCurl = await run('curl', ['--version']).then(
    () => true,
    () => false,
  );
  if (!hasCurl) return console.warn('skipped: there is no curl');
  const { stdout } = await run('curl', ['-s', `${server.url}/v1/completions`, '-d', JSON.stringify(ask)]);
  expect(JSON.parse(stdout)).toMatchObject({ object: 'text_completion', usage: { completion_tokens: 1 } });
});
