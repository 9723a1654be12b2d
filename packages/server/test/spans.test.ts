import { type Tracer, type TracerProvider, trace } from '@opentelemetry/api';
import { createHandler } from '../src/index.js';
import { loadDemo } from './serving.js';

test('a span per request, where the application has a tracer', async () => {
  const ended: object[] = [];
  const startSpan = (name: string, { attributes = {} }: { attributes?: object } = {}) => {
    const span = { name, ...attributes };
    return {
      setAttributes: (more: object) => Object.assign(span, more),
      setStatus: (status: object) => Object.assign(span, { status }),
      end: () => ended.push(span),
    };
  };
  const provider = { getTracer: () => ({ startSpan }) as unknown as Tracer } satisfies TracerProvider;
  trace.setGlobalTracerProvider(provider);
  using model = await loadDemo(1);
  const handler = createHandler({ models: { demo: model } });
  for (const body of ['{"prompt": "x", "max_tokens": 1}', '{'])
    await handler.fetch(
      new Request('http://x/v1/completions', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      }),
    );
  trace.disable();
  expect(ended).toMatchObject([
    {
      name: 'POST /v1/completions',
      'http.response.status_code': 200,
      'quern.aborted': false,
      status: { code: 0 },
    },
    { name: 'POST /v1/completions', 'http.response.status_code': 400 },
  ]);
});
