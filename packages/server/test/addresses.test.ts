// Several addresses: one port, one handler; localhost is both loopback addresses.
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Model } from '@quern/runtime';
import { serve } from '../src/index.js';
import { loadDemo } from './serving.js';

let model: Model;
beforeAll(async () => {
  model = await loadDemo(1);
});
afterAll(() => model.dispose());

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
);
/** macOS has one IPv4 loopback address. */
const testTwo = process.platform === 'darwin' ? test.skip : test;
const portOf = (url: string) => new URL(url).port;
const status = async (url: string) => (await fetch(`${url}/health`)).status;

test('localhost: 127.0.0.1, and ::1 where the machine has it', async () => {
  const server = await serve({ models: { demo: model }, host: 'localhost', port: 0 });
  const port = portOf(server.url);
  const six = hasIpv6 ? [`http://[::1]:${port}`] : [];
  expect(server.urls).toEqual([`http://localhost:${port}`, ...six]);
  for (const url of [`http://127.0.0.1:${port}`, ...six]) expect(await status(url)).toBe(200);
  await server.close();
  await expect(status(`http://127.0.0.1:${port}`)).rejects.toThrow();
});

testTwo('a list: every address once, on one port', async () => {
  const host = ['127.0.0.1', '127.0.0.2', '127.0.0.1'];
  const server = await serve({ models: { demo: model }, host, port: 0 });
  const port = portOf(server.url);
  expect(server.urls).toEqual([`http://127.0.0.1:${port}`, `http://127.0.0.2:${port}`]);
  for (const url of server.urls) expect(await status(url)).toBe(200);
  await server.close();
});

testTwo('where one address fails, none stays open', async () => {
  const holder = await new Promise<Server>((resolve) => {
    const made: Server = createServer().listen(0, '127.0.0.2', () => resolve(made));
  });
  const address = holder.address();
  const port = typeof address === 'object' ? address!.port : 0;
  const options = { models: { demo: model }, host: ['127.0.0.1', '127.0.0.2'], port };
  await expect(serve(options)).rejects.toMatchObject({ code: 'EADDRINUSE', address: '127.0.0.2' });
  await expect(status(`http://127.0.0.1:${port}`)).rejects.toThrow();
  await new Promise((resolve) => holder.close(resolve));
});

test.each([[[]], [['127.0.0.1', 5]], [['']]])('refuses %j', async (host) => {
  const wrong = serve({ models: { demo: model }, host: host as string[] });
  await expect(wrong).rejects.toMatchObject({ code: 'BAD_OPTION', message: expect.stringMatching(/host/) });
});
