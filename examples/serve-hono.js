// OpenAI's API inside a Hono application: PORT=8080 node serve-hono.js [MODEL].
import { serve } from '@hono/node-server';
import { loadModel } from '@quern/runtime';
import { createHandler } from '@quern/server';
import { Hono } from 'hono';

const model = await loadModel(process.argv[2] ?? 'demo', { sequences: 4 });
const quern = createHandler({ models: { demo: model } });

const app = new Hono();
app.get('/hello', (context) => context.text('a route of your own'));
app.mount('/', quern.fetch); // behind your own routes: /v1/chat/completions, /v1/messages …

const port = Number(process.env.PORT ?? 8080);
const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, (address) =>
  console.log(`http://127.0.0.1:${address.port}`),
);
process.once('SIGTERM', async () => {
  server.close();
  await quern.drain(); // running requests end first
  server.closeAllConnections();
  model.dispose();
});
