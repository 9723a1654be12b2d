import type { Hono } from 'hono';
import type { Call, ServerContext } from '../../context.js';
import { chat } from './chat.js';
import { embed, embedOne } from './embed.js';
import { modelsAreFixed } from './form.js';
import { generate } from './generate.js';
import { pull, running, show, tags } from './models.js';

export { ollamaError } from './form.js';

type Route = (request: Request, context: ServerContext, call: Call) => Promise<Response>;

/** Ollama's API: routes with a body. */
export const ollamaRoutes: Readonly<Record<string, Route>> = {
  '/api/chat': chat,
  '/api/generate': generate,
  '/api/embed': embed,
  '/api/embeddings': embedOne,
  '/api/show': show,
  '/api/pull': pull,
};

/** The version of Ollama whose API this is: clients refuse older ones. */
const version = '0.12.11';

const changes = [
  ['POST', '/api/create'],
  ['POST', '/api/copy'],
  ['POST', '/api/push'],
  ['DELETE', '/api/delete'],
  ['POST', '/api/blobs/:digest'],
] as const;

/** Routes without a body, and those that would change the models. */
export function addOllamaRoutes(app: Hono, context: ServerContext): void {
  app.get('/api/version', () => Response.json({ version }));
  app.get('/api/tags', () => tags(context));
  app.get('/api/ps', () => running(context));
  app.get('/api/blobs/:digest', () => {
    throw modelsAreFixed(404, 'there are no blobs');
  });
  for (const [method, path] of changes)
    app.on(method, path, () => {
      throw modelsAreFixed(400, `${method} ${path} is not supported`);
    });
}
