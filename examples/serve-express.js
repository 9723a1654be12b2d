// OpenAI's API inside an Express application: PORT=8080 node serve-express.js [MODEL].
import { getRequestListener } from '@hono/node-server';
import { loadModel } from '@quern/runtime';
import { createHandler } from '@quern/server';
import express from 'express';

const model = await loadModel(process.argv[2] ?? 'demo', { sequences: 4 });
const quern = createHandler({ models: { demo: model } });

const app = express();
app.all('/v1/{*path}', getRequestListener(quern.fetch)); // before express.json(): the handler reads the body
app.get('/hello', (_request, response) => response.send('a route of your own'));

const server = app.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}`),
);
process.once('SIGTERM', async () => {
  server.close();
  await quern.drain(); // running requests end first
  server.closeAllConnections();
  model.dispose();
});
