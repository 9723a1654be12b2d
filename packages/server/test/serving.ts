import { fileURLToPath } from 'node:url';
import { type LoadOptions, loadModel, type Model } from '@quern/runtime';
import { type RunningServer, type ServeOptions, serve } from '../src/index.js';

export const demo = fileURLToPath(new URL('../../demo-model/model/quern-demo.gguf', import.meta.url));

/**
 * The demo model, in a cache for several calls. Texts do not depend on other calls, on the cache or on the instruction set's handling
 * of many rows, so that tests may compare them; tests of the cache and of shared steps set `deterministic: false`.
 */
export const loadDemo = (sequences = 8, options: LoadOptions = {}): Promise<Model> =>
  loadModel(demo, {
    backend: 'cpu',
    context: 256,
    sequences,
    deterministic: true,
    onNotice: () => {},
    ...options,
  });

/** A server on a free port of this machine. */
export const serving = (model: Model, options: Partial<ServeOptions> = {}): Promise<RunningServer> =>
  serve({ models: { demo: model }, port: 0, ...options });

/** A server and its model, for all tests of a file or of a `describe`. */
export interface Served {
  readonly model: Model;
  readonly url: string;
  /** Requests under way. */
  readonly running: number;
}

/** Loads a model and serves it before the tests that follow, and closes both after them. */
export function served(
  load: () => Promise<Model> = () => loadDemo(2),
  options: Partial<ServeOptions> = {},
): Served {
  let model: Model;
  let server: RunningServer;
  beforeAll(async () => {
    model = await load();
    server = await serving(model, options);
  });
  afterAll(async () => {
    await server.close();
    model.dispose();
  });
  return {
    get model() {
      return model;
    },
    get url() {
      return server.url;
    },
    get running() {
      return server.running;
    },
  };
}

/** A request with a JSON body. */
export const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

export const until = async (holds: () => boolean, ms = 60_000): Promise<void> => {
  const end = performance.now() + ms;
  while (!holds() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
};

/** The body of a response; tests know its shape. */
// biome-ignore lint/suspicious/noExplicitAny: checked by the tests' expectations
export const json = async (response: Response): Promise<any> => response.json();
