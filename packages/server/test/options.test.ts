// Options of createHandler and serve: what is refused, and with which words.
import type { Model } from '@quern/runtime';
import { createHandler, type HandlerOptions, serve } from '../src/index.js';
import { loadDemo } from './serving.js';

let model: Model;
beforeAll(async () => {
  model = await loadDemo(1);
});
afterAll(() => model.dispose());

type Make = () => object;
const given = (more: object) => () => ({ models: { demo: model }, ...more });

const common: readonly (readonly [string, Make, RegExp])[] = [
  ['no options', () => undefined as unknown as object, /options is undefined; it must be an object/],
  ['no models', () => ({}), /the option models is missing/],
  ['a model instead of models', () => ({ models: model }), /models is a Model; it must be .* by their names/],
  ['a number as a model', () => ({ models: { a: 5 } }), /models is an object; it must be/],
  ['a model that still loads', () => ({ models: { a: loadDemo } }), /await loadModel/],
  ['a misspelt option', given({ apikeys: ['k'] }), /no option 'apikeys': did you mean 'apiKeys'\?/],
  ['aliases as a list', given({ aliases: ['a'] }), /aliases is .*; it must be an object of names/],
  [
    'an alias of nothing',
    given({ aliases: { a: 'none' } }),
    /aliases\.a is 'none', which is no model; known models: demo/,
  ],
  [
    'an alias that is a name',
    given({ aliases: { demo: 'demo' } }),
    /aliases has 'demo', which is a model's own/,
  ],
  ['anyModel as a name', given({ anyModel: 'demo' }), /anyModel is 'demo'/],
  ['no key', given({ apiKeys: [] }), /no key would be accepted; leave apiKeys out for an open server/],
  ['an empty key', given({ apiKeys: ['good', ''] }), /apiKeys must be a list of keys, each not empty/],
  ['a key with a line break', given({ apiKeys: ['good\n'] }), /without spaces around it/],
  ['a host as cors', given({ cors: 'foo' }), /cors is 'foo' \(a string\); it must be '\*' or an origin/],
  ['a path as cors', given({ cors: ['https://x.org/'] }), /without a slash at the end/],
  ['a pattern as cors', given({ cors: 'https://*.x.org' }), /it must be '\*' or an origin/],
  ['a URL as allowed host', given({ allowedHosts: 'https://x.org' }), /a name or address without scheme/],
  ['a port as allowed host', given({ allowedHosts: ['x.org:80'] }), /without scheme, port and path/],
  [
    'a pattern as allowed host',
    given({ allowedHosts: '*.x.org' }),
    /.quern.example: with all names below it/,
  ],
  ['an empty allowed host', given({ allowedHosts: [''] }), /it must be '\*' or a name/],
  ['a dot as allowed host', given({ allowedHosts: '.' }), /it must be '\*' or a name/],
  ['requests as a text', given({ requests: 'x' }), /requests is 'x' .* a whole number from 1/],
  ['no time', given({ requestMs: Number.NaN }), /requestMs is NaN; it must be a whole number/],
  ['an endless time', given({ requestMs: Number.POSITIVE_INFINITY }), /requestMs is Infinity/],
  ['bytes below 1', given({ bodyBytes: 0 }), /bodyBytes is 0/],
  ['sound in negative bytes', given({ audioBytes: -1 }), /audioBytes is -1/],
  ['an adapter folder without a name', given({ adapterFolder: '' }), /adapterFolder is ''/],
  ['speculate: true', given({ speculate: true }), /speculate is true; it must be an object/],
  ['a log that is no function', given({ log: console }), /log is .*; it must be a function/],
];

test.each(common)('%s', async (_, make, says) => {
  const error = { code: 'BAD_OPTION', message: expect.stringMatching(says) };
  const handle = () => createHandler(make() as HandlerOptions);
  expect(handle).toThrow(expect.objectContaining(error));
  expect(handle).toThrow(/^\[createHandler\] /);
  await expect(serve(make() as HandlerOptions)).rejects.toMatchObject(error);
});

test.each([
  ['host', 5, /\[serve\] host is 5; it must be an address/],
  ['host', '', /host is ''/],
  ['port', 'a', /port is 'a' .* a whole number from 0 to 65535/],
  ['port', 99_999, /port is 99999; .* from 0 to 65535/],
  ['drainMs', -1, /drainMs is -1/],
] as const)('serve: %s %p', async (name, value, says) => {
  await expect(serve({ models: { demo: model }, [name]: value })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringMatching(says),
  });
});

test('a message never shows a key', () => {
  expect(() => createHandler({ models: { demo: model }, apiKeys: ['s3cret', ''] })).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('s3cret') }),
  );
  const text = { models: { demo: model }, apiKeys: 's3cret' } as unknown as HandlerOptions;
  expect(() => createHandler(text)).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('s3cret') }),
  );
});

test.each([
  ['https://x.org', 'https://x.org'],
  [['http://localhost:3000', 'https://x.org'], 'https://x.org'],
  [['*'], '*'],
  ['*', '*'],
  ['http://[::1]:80', null],
])('cors %p', async (cors, allowed) => {
  const { fetch } = createHandler({ models: { demo: model }, cors });
  const response = await fetch(new Request('http://x/health', { headers: { origin: 'https://x.org' } }));
  expect(response.headers.get('access-control-allow-origin')).toBe(allowed);
});

test.each([-1, 'soon', Number.NaN, null])('drain(%p) is refused, and nothing ends', async (ms) => {
  const handler = createHandler({ models: { demo: model } });
  await expect(handler.drain(ms as number)).rejects.toMatchObject({
    code: 'BAD_ARGUMENT',
    message: expect.stringContaining('ms is'),
  });
  expect((await handler.fetch(new Request('http://x/ready'))).status).toBe(200);
});

test('undefined counts as absent', () => {
  const nothing = { apiKeys: undefined, cors: undefined, requests: undefined, speculate: undefined };
  expect(createHandler({ models: { demo: model }, ...nothing }).running).toBe(0);
});
