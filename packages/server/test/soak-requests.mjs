// What the random clients of soak.mjs send: requests in the form of many clients, and what their answers must be.

export const pick = (values) => values[Math.floor(Math.random() * values.length)];
export const upTo = (most) => 1 + Math.floor(Math.random() * most);
const often = (part, more) => (Math.random() < part ? more : {});

const words = 'the fox went out on a cold night and asked the mouse for a cup of tea'.split(' ');
const text = (most = 60) => Array.from({ length: upTo(most) }, () => pick(words)).join(' ');
const user = (most) => [{ role: 'user', content: text(most) }];

/** The second one's keys are not chosen but forced. */
const schemas = [
  { enum: [1, 2] },
  {
    type: 'object',
    properties: { name: { enum: ['fox', 'mouse'] }, age: { type: 'integer', minimum: 0, maximum: 9 } },
    required: ['name', 'age'],
    additionalProperties: false,
  },
];
const parameters = { type: 'object', properties: { path: { enum: ['a', 'b'] } }, required: ['path'] };

/** Bodies that no server should accept. */
const nonsense = [
  '{',
  '[]',
  '{"messages": 5}',
  '{"messages": [{"role": "user"}]}',
  '{"messages": [{"role": "user", "content": "x"}], "max_tokens": -2}',
  '{"messages": [{"role": "user", "content": "x"}], "temperature": "hot"}',
  '{"messages": [{"role": "user", "content": "x"}], "n": 0}',
];

/** Values that few fields want. */
const strange = [null, true, -1, 0.5, 1e308, '', 'x', '\ud800', [], [[]], {}, { a: { a: {} } }, ['a', 3]];

// What a whole answer, or the end of a stream, must look like.
const isDone = (answer) => answer.endsWith('data: [DONE]\n\n');
const json = (holds) => (answer) => Boolean(holds(JSON.parse(answer)));
const either = (stream, whole) => (answer, type) =>
  type.startsWith('application/json') ? json(whole)(answer) : stream(answer);
const lastLine = (answer) => JSON.parse(answer.trimEnd().split('\n').at(-1)).done === true;

function chat() {
  const body = {
    messages: user(),
    max_tokens: upTo(40),
    stream: Math.random() < 0.7,
    temperature: pick([0, 0.8, 1.5]),
    ...often(0.2, { presence_penalty: 1 }),
    ...often(0.2, { response_format: { type: 'json_schema', json_schema: { schema: pick(schemas) } } }),
    ...often(0.1, { logprobs: true }),
    ...often(0.05, { n: 3 }),
  };
  const path = pick(['/v1/chat/completions', '/v1/chat/completions', '/chat/completions']);
  return { path, body, isRight: either(isDone, ({ usage }) => usage) };
}

/** As Claude Code sends them. */
function messages() {
  const body = {
    model: 'model',
    max_tokens: upTo(40),
    stream: Math.random() < 0.8,
    system: [
      { type: 'text', text: `x-anthropic-billing-header: cch=${Math.random()};` },
      { type: 'text', text: 'Use the tools.', cache_control: { type: 'ephemeral' } },
    ],
    messages: user(20),
    tools: [{ name: 'Read', description: 'Reads a file.', input_schema: parameters }],
    ...often(0.3, { tool_choice: { type: 'any' } }),
    thinking: { type: 'disabled' },
    context_management: { edits: [] },
    metadata: { user_id: '1' },
  };
  const headers = { 'anthropic-version': '2023-06-01', 'user-agent': 'claude-cli/2.1.177 (external, cli)' };
  const ended = (answer) => answer.includes('event: message_stop');
  return { path: '/v1/messages?beta=true', headers, body, isRight: either(ended, ({ usage }) => usage) };
}

/** Ids of the last stored answers, by the number of answers before each. */
const stored = [];
const maxStored = 50;

/** As Codex and the AI SDK send them: stored answers are referred to. */
function responses() {
  const before = Math.random() < 0.5 ? pick(stored) : undefined;
  const isStored = Math.random() < 0.7;
  const body = {
    input: text(15),
    max_output_tokens: upTo(20),
    stream: Math.random() < 0.5,
    store: isStored,
    ...(before && { previous_response_id: before.id }),
    ...often(0.4, {
      tools: [
        { type: 'custom', name: 'apply_patch', description: 'Edits files.' },
        { type: 'function', name: 'shell', parameters, strict: false },
        { type: 'web_search' },
      ],
      ...often(0.3, { tool_choice: 'required' }),
    }),
  };
  const turns = (before?.turns ?? 0) + 1;
  const ended = (answer) => /event: response\.(completed|incomplete)/.test(answer);
  const keep = (answer) => {
    const id = /"(resp_[^"]+)"/.exec(answer)?.[1];
    if (!isStored || turns > 1 || !id) return;
    stored.push({ id, turns });
    if (stored.length > maxStored) stored.shift();
  };
  return { path: '/v1/responses', body, isRight: either(ended, ({ usage }) => usage), onEnd: keep };
}

/** What is stored is read, and deleted once in a while. */
function storedResponse() {
  if (Math.random() < 0.2) {
    const gone = stored.shift();
    if (gone)
      return { path: `/v1/responses/${gone.id}`, method: 'DELETE', isRight: json((it) => it.deleted) };
  }
  const id = stored.at(-1)?.id;
  if (!id) return { path: '/v1/responses/none', method: 'GET', refusal: 404 };
  const part = pick(['', '/input_items']);
  return {
    path: `/v1/responses/${id}${part}`,
    method: 'GET',
    isRight: json((it) => it.object),
    maybe: [404],
  };
}

const ollama = { model: 'model:latest', keep_alive: '5m' };

function ollamaChat() {
  const stream = Math.random() < 0.7;
  const options = { num_predict: upTo(30), num_ctx: 8192, ...often(0.5, { temperature: 0 }) };
  const tools = [{ type: 'function', function: { name: 'read', description: 'Reads.', parameters } }];
  const body = { ...ollama, messages: user(20), stream, options, ...often(0.3, { tools }) };
  return { path: '/api/chat', body, isRight: stream ? lastLine : json(({ done }) => done) };
}

function ollamaGenerate() {
  const stream = Math.random() < 0.5;
  const raw = Math.random() < 0.3;
  const format = { format: pick(['json', schemas[1]]) };
  const options = { num_predict: upTo(30) };
  const body = { ...ollama, prompt: text(), raw, stream, options, ...often(0.2, format) };
  return { path: '/api/generate', body, isRight: stream ? lastLine : json(({ done }) => done) };
}

const texts = (most) => Array.from({ length: upTo(most) }, () => text(10));

function embeddings() {
  const input = texts(8);
  return pick([
    {
      path: '/api/embed',
      body: { model: 'encoder', input },
      isRight: json((it) => it.embeddings.length === input.length),
    },
    { path: '/v1/embeddings', body: { input }, isRight: json(({ data }) => data.length === input.length) },
    { path: '/embed', body: { inputs: input }, isRight: json((list) => list.length === input.length) },
    { path: '/embedding', body: { content: input[0] }, isRight: json((list) => list.length === 1) },
  ]);
}

function rerank() {
  const documents = texts(8);
  const ask = { query: text(4), documents };
  const all = json(({ results }) => results.length === documents.length);
  return pick([
    { path: pick(['/v1/rerank', '/rerank', '/reranking']), body: ask, isRight: all },
    { path: '/v2/rerank', body: { model: 'encoder', ...ask }, isRight: all },
    {
      path: '/rerank',
      body: { query: 'fox', texts: documents },
      isRight: json((list) => list.length === documents.length),
    },
    {
      path: '/score',
      body: { text_1: 'fox', text_2: documents },
      isRight: json(({ data }) => data.length === documents.length),
    },
  ]);
}

function completion() {
  const stream = Math.random() < 0.5;
  const body = { prompt: text(), n_predict: upTo(30), stream, ...often(0.3, { n_probs: 2 }) };
  const ended = (answer) => /"stop":true/.test(answer);
  return { path: pick(['/completion', '/completions']), body, isRight: ended };
}

function manyTexts() {
  const prompt = texts(12);
  const n = upTo(3);
  const isRight = json(({ choices }) => choices.length === n * prompt.length);
  return { path: '/v1/completions', body: { prompt, n, max_tokens: upTo(12) }, isRight };
}

/** What makes no text. */
const small = () =>
  pick([
    { path: '/tokenize', body: { content: text(), with_pieces: true }, isRight: json((it) => it.tokens) },
    { path: '/tokenize', body: { messages: user() }, isRight: json(({ count }) => count > 0) },
    {
      path: '/detokenize',
      body: { tokens: [5, 6, 7] },
      isRight: json((it) => typeof it.prompt === 'string'),
    },
    { path: '/apply-template', body: { messages: user() }, isRight: json((it) => it.prompt) },
    { path: '/v1/completions/render', body: { prompt: texts(3) }, isRight: json((list) => list.length > 0) },
    {
      path: '/v1/chat/completions/render',
      body: { messages: user() },
      isRight: json((it) => it.token_ids.length > 0),
    },
    { path: '/v1/messages/count_tokens', body: { messages: user() }, isRight: json((it) => it.input_tokens) },
    { path: '/v1/responses/input_tokens', body: { input: text() }, isRight: json((it) => it.input_tokens) },
    { path: '/api/show', body: { model: 'model' }, isRight: json((it) => it.model_info) },
    ...['/props', '/slots', '/v1/models', '/api/tags', '/api/version', '/api/ps'].map((path) => ({
      path,
      method: 'GET',
      isRight: json((it) => it),
    })),
    { path: '/metrics', method: 'GET', isRight: (answer) => answer.includes('num_requests_running') },
    { path: '/v1/audio/speech', body: { input: 'x' }, refusal: 404 },
  ]);

/** The demo's vocabulary has no tokens for it. */
const infill = () => ({
  path: '/infill',
  body: { input_prefix: text(5), input_suffix: text(5), n_predict: 4 },
  refusal: 400,
});

/** Fields that no route reads, under ever new names. */
function ignoredFields() {
  const request = pick([chat, messages, responses, ollamaChat, completion])();
  return { ...request, body: { ...request.body, [`x${Math.random()}`]: text(), unheard_of: { a: 1 } } };
}

const nonsenseOf = () => ({ path: '/v1/chat/completions', body: pick(nonsense), refusal: 400 });

/** One field with a value that it may not want: an answer or a 400. */
function wrongType() {
  const request = pick([
    chat,
    messages,
    responses,
    ollamaChat,
    ollamaGenerate,
    completion,
    rerank,
    embeddings,
  ])();
  const field = pick(Object.keys(request.body));
  const limits = { max_tokens: 20, max_output_tokens: 20, n_predict: 20, options: { num_predict: 20 } };
  const own = Object.fromEntries(Object.entries(limits).filter(([name]) => name in request.body));
  const body = { ...request.body, ...own, [field]: pick(strange) };
  return { ...request, body, isRight: () => true, maybe: [400, 404], onEnd: undefined };
}

const foreign = () => ({
  ...pick([chat, messages, ollamaChat, small])(),
  origin: 'https://pages.example',
  refusal: 403,
});

/** Half of a body; the rest never comes. */
const halfBody = () => ({ ...chat(), isHalf: true, refusal: 408 });

/** One request of a kind after the other; nonsense apart. */
const kinds = {
  chat,
  messages,
  responses,
  storedResponse,
  ollamaChat,
  ollamaGenerate,
  embeddings,
  rerank,
  completion,
  manyTexts,
  small,
  infill,
  ignoredFields,
  wrongType,
  foreign,
  halfBody,
};

/** Every third request is a chat. */
const order = Object.keys(kinds).flatMap((kind) => ['chat', kind, pick(['messages', 'responses', 'small'])]);

/** The request number `index`, with the name of its kind. */
export function requestOf(index, isMalformed) {
  const kind = isMalformed ? 'nonsense' : order[index % order.length];
  const { method = 'POST', body, ...request } = isMalformed ? nonsenseOf() : kinds[kind]();
  return { kind, method, body: typeof body === 'object' ? JSON.stringify(body) : body, ...request };
}
