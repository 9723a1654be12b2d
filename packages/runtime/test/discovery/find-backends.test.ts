import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { referenceDriver } from '@quern/backend-reference';
import {
  type Backend,
  contractVersion,
  defineBackend,
  registerBackend,
  registeredBackends,
} from '@quern/core';
import { commonJsForm } from '../../src/discovery/import-module.js';
import { describeDevices, findBackend, findBackends, loadModel } from '../../src/index.js';
import { backendPackage, brokenPackage, makeApplication, onRequest } from '../application.js';
import { writeTinyModel } from '../tiny-model.js';
import { warningsOf } from '../warnings.js';

const reference = '../../../backend-reference/package.json';

const application = () =>
  makeApplication({
    '@quern/backend-slow': backendPackage('slow', { flops: 1e9, readBandwidth: 1e12 }),
    'fast-by-others': backendPackage('fast', { flops: 1e12, readBandwidth: 1e9 }),
    '@quern/backend-broken': brokenPackage('there is no such device'),
    'not-a-backend': {},
    'empty-backend': { quern: { backend: './index.mjs' }, files: { 'index.mjs': '' } },
  });

/** Backends that a test package has created so far. */
const madeBy = async (folder: string, name: string): Promise<Backend[]> =>
  (await import(pathToFileURL(join(folder, 'node_modules', name, 'index.mjs')).href)).made;

test('the declared backends of the dependencies, fastest first, and why others do not load', async () => {
  const found = await findBackends({ resolveFrom: application(), threads: 3, precision: 'fast' });
  expect(found.map(({ package: name, error }) => error ?? name)).toEqual([
    'fast-by-others',
    '@quern/backend-slow',
    'there is no such device',
    './index.mjs does not export createBackend',
  ]);
  expect(found[0]!.backend!.profile).toMatchObject({ threads: 3, precision: 'fast' });
  for (const { backend } of found) backend?.dispose();
});

test('searches from a folder inside the application', async () => {
  const found = await findBackends({
    resolveFrom: join(application(), 'node_modules', 'not-a-backend', '..', '..'),
  });
  expect(found).toHaveLength(4);
  for (const { backend } of found) backend?.dispose();
});

test('the backend of the application’s own package', async () => {
  const { files, quern } = backendPackage('own', { flops: 1e9, readBandwidth: 1e9 });
  const resolveFrom = makeApplication({});
  writeFileSync(join(resolveFrom, 'index.mjs'), files!['index.mjs']!);
  writeFileSync(join(resolveFrom, 'package.json'), JSON.stringify({ name: 'own-backend', quern }));
  const found = await findBackends({ resolveFrom });
  expect(found.map(({ package: name }) => name)).toEqual(['own-backend']);
  for (const { backend } of found) backend?.dispose();
});

test('a backend by name or package', async () => {
  const resolveFrom = application();
  for (const name of ['fast', 'fast-by-others'])
    await findBackend(name, { resolveFrom }).then(({ backend }) => {
      expect(backend.name).toBe('fast');
      backend.dispose();
    });
  expect((await madeBy(resolveFrom, '@quern/backend-slow')).every(({ disposed }) => disposed)).toBe(true);
});

test('a backend that is not installed: the error lists the installed ones and the forms of a name', async () => {
  const looking = findBackend('granite', { resolveFrom: application() });
  await expect(looking).rejects.toMatchObject({ code: 'BACKEND_NOT_FOUND' });
  await expect(looking).rejects.toThrow(/slow \(@quern\/backend-slow\).*the path of its folder or module/);
  await expect(looking).rejects.not.toThrow('npm install');
  await expect(findBackend('granite', { resolveFrom: makeApplication({}) })).rejects.toThrow(
    /no package .* declares a backend/,
  );
});

test.each(['cpu', '@quern/backend-cpu', 'cuda', 'metal', 'reference'])(
  '%s is published: the error has the install command',
  async (name) => {
    const command = `npm install @quern/backend-${name.replace('@quern/backend-', '')}`;
    await expect(findBackend(name, { resolveFrom: makeApplication({}) })).rejects.toThrow(command);
  },
);

describe('by path', () => {
  const folder = () => join(application(), 'node_modules', 'fast-by-others');

  test.each([
    ['a folder', (at: string) => at],
    ['a folder, relative', (at: string) => `./${relative(process.cwd(), at)}`],
    ['a module', (at: string) => join(at, 'index.mjs')],
    ['a URL', (at: string) => pathToFileURL(join(at, 'index.mjs')).href],
  ])('%s', async (_name, pathOf) => {
    const { backend } = await findBackend(pathOf(folder()), { threads: 2 });
    expect([backend.name, backend.profile.threads]).toEqual(['fast', 2]);
    backend.dispose();
  });

  test('CommonJS', async () => {
    const path = join(makeApplication({}), 'driver.cjs');
    writeFileSync(path, 'exports["create" + "Backend"] = async () => { throw new Error("as CommonJS"); };');
    await expect(findBackend(path)).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      message: expect.stringContaining('as CommonJS'),
    });
  });

  test.each([
    ['nothing there', './no/such/folder', /no such file or folder/],
    [
      'a file for a folder',
      join(process.execPath, 'x'),
      /^there is no backend at .*: not a directory \(ENOTDIR\)$/,
    ],
    ['no package', tmpdir(), /its package.json must say where, as in "quern": \{"backend"/],
  ])('%s', async (_name, path, message) => {
    await expect(findBackend(path)).rejects.toMatchObject({
      code: 'BACKEND_NOT_FOUND',
      message: expect.stringMatching(message),
    });
  });
});

describe('backendOptions', () => {
  const echo = {
    quern: { backend: './index.mjs' },
    files: {
      'index.mjs':
        'export async function createBackend(options) { throw new Error(JSON.stringify(options)); }',
    },
  };

  test('go to the named backend, with threads and isa', async () => {
    const resolveFrom = makeApplication({ 'quern-backend-echo': echo });
    const backendOptions = { device: 1, path: '/dev/x', threads: 9 };
    await expect(
      loadModel(await writeTinyModel(), { resolveFrom, backend: 'echo', threads: 2, backendOptions }),
    ).rejects.toThrow(JSON.stringify({ device: 1, path: '/dev/x', threads: 2 }));
  });

  test('precision beside them wins', async () => {
    const resolveFrom = makeApplication({ 'quern-backend-echo': echo });
    const options = { resolveFrom, backend: 'echo', backendOptions: { precision: 'fast' } } as const;
    const model = await writeTinyModel();
    await expect(loadModel(model, options)).rejects.toThrow(JSON.stringify({ precision: 'fast' }));
    await expect(loadModel(model, { ...options, precision: 'exact' })).rejects.toThrow(
      JSON.stringify({ precision: 'exact' }),
    );
  });

  test('are refused without a named backend, and with an instance', async () => {
    const model = await writeTinyModel();
    const resolveFrom = application();
    const backendOptions = { device: 1 };
    await expect(loadModel(model, { resolveFrom, backendOptions })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining("backend: 'cpu'"),
    });
    const { backend } = await findBackend('fast', { resolveFrom });
    await expect(loadModel(model, { backend, backendOptions })).rejects.toMatchObject({ code: 'BAD_OPTION' });
    backend.dispose();
  });

  test.each(['@quern/backend-cpu', '@quern/backend-reference'])(
    '%s accepts its own options',
    async (name) => {
      const { createBackend } = await import(name);
      await expect(createBackend({ thread: 2 })).rejects.toMatchObject({
        code: 'BAD_ARGUMENT',
        message: expect.stringContaining("no option 'thread'"),
      });
    },
  );
});

describe('a backend of another contract version', () => {
  const old = backendPackage('old', { flops: 1, readBandwidth: 1 });
  const text = old.files!['index.mjs']!.replace(
    'made.push(backend)',
    'made.push(backend); backend.contract = 0',
  );
  const outdated = () => makeApplication({ 'quern-backend-old': { ...old, files: { 'index.mjs': text } } });

  test('is not used; the error names the package to update', async () => {
    const resolveFrom = outdated();
    const message = expect.stringContaining('update quern-backend-old');
    await expect(findBackend('old', { resolveFrom })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      message,
    });
    expect(await findBackends({ resolveFrom })).toMatchObject([{ code: 'WRONG_CONTRACT', error: message }]);
    expect((await madeBy(resolveFrom, 'quern-backend-old')).every(({ disposed }) => disposed)).toBe(true);
  });

  test('is refused as an instance too', async () => {
    const resolveFrom = outdated();
    await findBackend('old', { resolveFrom }).catch(() => {});
    const [backend] = await madeBy(resolveFrom, 'quern-backend-old');
    await expect(loadModel(await writeTinyModel(), { backend: backend! })).rejects.toMatchObject({
      code: 'WRONG_CONTRACT',
    });
  });
});

describe('a driver for another contract', () => {
  const made = backendPackage('made-for', { flops: 1, readBandwidth: 1 });
  const stating = (contract: number) => {
    const text = made.files!['index.mjs']!.replace('...driver,', `...driver, contract: ${contract},`);
    return makeApplication({ 'quern-backend-made-for': { ...made, files: { 'index.mjs': text } } });
  };

  test.each([
    [contractVersion - 1, 'update quern-backend-made-for'],
    [contractVersion + 1, 'update @quern/core, @quern/models and @quern/runtime'],
  ])('%p: WRONG_CONTRACT names what to update', async (contract, message) => {
    const error = expect.stringMatching(
      new RegExp(`^driver 'made-for' was made for contract.*: ${message}$`),
    );
    expect(await describeDevices({ resolveFrom: stating(contract) })).toEqual([
      { package: 'quern-backend-made-for', error },
    ]);
    const resolveFrom = stating(contract);
    expect(await findBackends({ resolveFrom })).toMatchObject([{ code: 'WRONG_CONTRACT', error }]);
    await expect(findBackend('made-for', { resolveFrom })).rejects.toThrow(message);
  });
});

describe('packages of Quern that do not fit together', () => {
  const importing = (text: string) =>
    makeApplication({
      'quern-backend-x': { quern: { backend: './index.mjs' }, files: { 'index.mjs': text } },
    });

  test('an export that the installed core lacks', async () => {
    const resolveFrom = importing(`import { notYetThere } from '@quern/core';`);
    await expect(findBackend('x', { resolveFrom })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      message: expect.stringMatching(
        /quern-backend-x is installed .*@quern\/core.* has no export 'notYetThere', .*Update @quern\/core and this package/,
      ),
    });
  });

  test.each([
    "Cannot find package '@quern/core' imported from /a/index.js",
    "Could not find package '@quern/core' from referrer 'file:///a/index.js'", // Deno
    "quern-backend-x tried to access @quern/core (a peer dependency) but it isn't provided by your application", // Yarn
  ])('%s', async (message) => {
    const resolveFrom = importing(`throw new Error(${JSON.stringify(message)});`);
    await expect(findBackend('x', { resolveFrom })).rejects.toThrow(
      /it needs @quern\/core beside it\. To add it: npm install @quern\/core/,
    );
  });
});

test('of a link the real file is imported: a second path is not a second copy', async () => {
  const resolveFrom = makeApplication({});
  const package_ = join(application(), 'node_modules', 'fast-by-others');
  symlinkSync(package_, join(resolveFrom, 'linked'));
  const { backend } = await findBackend(join(resolveFrom, 'linked'));
  backend.dispose();
  const { made } = await import(pathToFileURL(join(package_, 'index.mjs')).href);
  expect(made).toEqual([backend]);
});

describe('a registered backend', () => {
  const registered = (own: object = {}) => {
    const createBackend = async (options: object) => {
      const driver = referenceDriver();
      const { threads = 1 }: { threads?: number } = options;
      return defineBackend({
        ...driver,
        name: 'here',
        profile: { ...driver.profile, flops: 1e18, threads },
        ...own,
      });
    };
    registerBackend({ package: '@mine/backend-here', createBackend });
  };

  test('is found by its name and its package, gets options, and auto takes it', async () => {
    registered();
    for (const name of ['here', '@mine/backend-here']) {
      const { backend } = await findBackend(name, { threads: 3 });
      expect([backend.name, backend.profile.threads]).toEqual(['here', 3]);
      backend.dispose();
    }
    using model = await loadModel(await writeTinyModel());
    expect(model.backend).toBe('here');
  });

  test('resolveFrom asks for the packages of one folder alone', async () => {
    registered();
    await expect(findBackend('here', { resolveFrom: makeApplication({}) })).rejects.toMatchObject({
      code: 'BACKEND_NOT_FOUND',
    });
  });

  test('every copy of core knows it; the last one of a package counts', () => {
    registered();
    const list: unknown = Reflect.get(globalThis, Symbol.for('@quern/core/registered-backends'));
    expect(list).toBeInstanceOf(Map);
    expect(registeredBackends().filter((each) => each.package === '@mine/backend-here')).toHaveLength(1);
  });
});

describe('the CommonJS form of a module', () => {
  const dual = {
    exports: {
      '.': {
        import: { types: './dist/index.d.ts', default: './dist/index.js' },
        require: { types: './dist/index.d.cts', default: './dist/index.cjs' },
      },
      './package.json': './package.json',
    },
  };
  test.each([
    ['of two builds', { type: 'module', ...dual }, './dist/index.js', './dist/index.cjs'],
    ['another module of that package', { type: 'module', ...dual }, './dist/other.js', undefined],
    ['ESM alone', { type: 'module', exports: './index.js' }, './index.js', undefined],
    ['CommonJS alone', { exports: './index.js' }, './index.js', './index.js'],
    ['without exports', { main: './index.js' }, './index.js', './index.js'],
    ['by its ending', { type: 'module' }, './driver.cjs', './driver.cjs'],
    ['ESM by its ending', {}, './driver.mjs', undefined],
  ])('%s', (_name, manifest, module, form) => {
    const folder = makeApplication({});
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'x', ...manifest }));
    expect(commonJsForm(folder, module)).toBe(form);
  });
});

test('an installed backend that cannot be used: the reason', async () => {
  await expect(findBackend('broken', { resolveFrom: application() })).rejects.toMatchObject({
    code: 'BACKEND_FAILED',
    message: expect.stringContaining('there is no such device'),
  });
});

test('loadModel takes the fastest, disposes the others; the model disposes its backend', async () => {
  const resolveFrom = application();
  const notices: string[] = [];
  const model = await loadModel(await writeTinyModel(), {
    resolveFrom,
    onNotice: (text) => notices.push(text),
  });
  expect(model.backend).toBe('fast');
  expect(notices).toContainEqual(
    expect.stringMatching(
      /@quern\/backend-broken .*there is no such device.*'fast' or 'slow', which may be slower/,
    ),
  );
  const [fast] = await madeBy(resolveFrom, 'fast-by-others');
  const [slow] = await madeBy(resolveFrom, '@quern/backend-slow');
  expect([fast!.disposed, slow!.disposed]).toEqual([false, true]);
  model.dispose();
  expect(fast!.disposed).toBe(true);
});

test('no backend', async () => {
  const loading = loadModel(await writeTinyModel(), { resolveFrom: makeApplication({}) });
  await expect(loading).rejects.toMatchObject({
    code: 'NO_BACKEND',
    message: expect.stringContaining('npm install'),
  });
});

test('a failed load disposes its backend', async () => {
  const resolveFrom = application();
  await expect(loadModel(await writeTinyModel(), { resolveFrom, context: 1e12 })).rejects.toMatchObject({
    code: 'CONTEXT_TOO_LARGE',
  });
  for (const name of ['fast-by-others', '@quern/backend-slow'])
    expect((await madeBy(resolveFrom, name)).every(({ disposed }) => disposed)).toBe(true);
});

test('the default backend is installed but fails: only its own message', async () => {
  const resolveFrom = makeApplication({ '@quern/backend-cpu': brokenPackage('no binary') });
  const loading = loadModel(await writeTinyModel(), { resolveFrom });
  await expect(loading).rejects.toMatchObject({
    code: 'BACKEND_FAILED',
    message: '@quern/backend-cpu cannot be used: no binary',
  });
});

describe('a backend that is used only if named', () => {
  const definitions = onRequest(backendPackage('definitions', { flops: 1e15, readBandwidth: 1e15 }));
  const madeOf = (folder: string) => madeBy(folder, 'backend-definitions');

  test('auto takes another one and does not load it', async () => {
    const resolveFrom = makeApplication({
      '@quern/backend-slow': backendPackage('slow', { flops: 1, readBandwidth: 1 }),
      'backend-definitions': definitions,
    });
    using model = await loadModel(await writeTinyModel(), { resolveFrom });
    expect(model.backend).toBe('slow');
    expect(await madeOf(resolveFrom)).toHaveLength(0);
    using asked = await loadModel(model.path, { resolveFrom, backend: 'definitions' });
    expect(asked.backend).toBe('definitions');
  });

  test('auto fails if the other one lacks memory or does not load', async () => {
    const path = await writeTinyModel();
    const full = makeApplication({
      '@quern/backend-full': backendPackage('full', { flops: 1, readBandwidth: 1 }, { freeMemory: 1000 }),
      'backend-definitions': definitions,
    });
    await expect(loadModel(path, { resolveFrom: full })).rejects.toMatchObject({
      code: 'MODEL_TOO_LARGE',
      message: expect.stringMatching(/do not fit in the 1\.00 kB that are free on 'full'/),
    });
    const broken = makeApplication({
      '@quern/backend-cpu': brokenPackage('no binary', 'UNSUPPORTED'),
      'backend-definitions': definitions,
    });
    await expect(loadModel(path, { resolveFrom: broken })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      message: expect.stringContaining('no binary'),
    });
    for (const folder of [full, broken]) expect(await madeOf(folder)).toHaveLength(0);
  });

  test('auto fails if it is the only one; the error has its name', async () => {
    const resolveFrom = makeApplication({ 'backend-definitions': definitions });
    await expect(loadModel(await writeTinyModel(), { resolveFrom })).rejects.toMatchObject({
      code: 'NO_BACKEND',
      message: expect.stringMatching(
        /by name: backend: 'definitions'\. .*npm install @quern\/backend-cpu\. In a bundle/,
      ),
    });
    expect((await madeOf(resolveFrom)).every(({ disposed }) => disposed)).toBe(true);
  });

  test('backend-reference is such a backend', () => {
    const { quern } = JSON.parse(readFileSync(new URL(reference, import.meta.url), 'utf8'));
    expect(quern).toEqual({ backend: './dist/index.js', auto: false });
  });
});

test('auto alone with backends that fail: the cause has all errors', async () => {
  const resolveFrom = makeApplication({
    one: brokenPackage('no binary', 'UNSUPPORTED'),
    two: { quern: { backend: './none.mjs' } },
  });
  const loading = loadModel(await writeTinyModel(), { resolveFrom });
  await expect(loading).rejects.toMatchObject({
    code: 'BACKEND_FAILED',
    message: expect.stringMatching(
      /^one cannot be used \(UNSUPPORTED\): no binary\ntwo is installed but does not load.*: .*none\.mjs/,
    ),
    cause: { errors: [{ code: 'UNSUPPORTED' }, expect.any(Error)] },
  });
});

describe('a better backend that cannot be used', () => {
  const slow = backendPackage('slow', { flops: 1, readBandwidth: 1 });

  test('a reason of many lines: one line of notice', async () => {
    const resolveFrom = makeApplication({ slow, 'backend-cuda': brokenPackage('no binary\nTried:\n  a') });
    const heard: string[] = [];
    const onNotice = (text: string) => heard.push(text);
    (await loadModel(await writeTinyModel(), { resolveFrom, onNotice })).dispose();
    expect(heard).toEqual([
      "backend-cuda cannot be used: no binary (`quern devices` tells more). Going on with 'slow', which may be slower",
    ]);
  });

  test('a load failure is a reason in the plan, and a warning without onNotice', async () => {
    const resolveFrom = makeApplication({ slow, 'backend-cuda': brokenPackage('no device') });
    const path = await writeTinyModel();
    const { warnings, result } = await warningsOf(() => loadModel(path, { resolveFrom }));
    using model = result;
    expect(warnings).toEqual([expect.stringMatching(/^backend-cuda cannot be used: no device.*'slow'/)]);
    expect(model.plan.reasons[0]).toBe(warnings[0]);
    const heard: string[] = [];
    const listening = await warningsOf(() =>
      loadModel(path, { resolveFrom, onNotice: (text) => heard.push(text) }),
    );
    listening.result.dispose();
    expect([heard, listening.warnings]).toEqual([warnings, []]);
  });

  test('too little memory', async () => {
    const full = backendPackage('full', { flops: 9e9, readBandwidth: 9e9 }, { freeMemory: 1000 });
    const resolveFrom = makeApplication({ slow, full });
    const heard: string[] = [];
    using model = await loadModel(await writeTinyModel(), {
      resolveFrom,
      onNotice: (text) => heard.push(text),
    });
    expect(heard).toEqual([expect.stringMatching(/^'full' has 1\.00 kB free, .*going on with 'slow'/)]);
    expect(model.plan.reasons[0]).toMatch(/^rejected: .*'full'/);
  });
});

test.each(['', 'two words', 'a/b'])("'%s’ is not a backend’s name", async (name) => {
  await expect(findBackend(name, { resolveFrom: application() })).rejects.toMatchObject({
    code: 'BAD_OPTION',
  });
});

describe('a backend that refuses the caller’s choice', () => {
  const refusing = (code: string) =>
    makeApplication({
      '@quern/backend-slow': backendPackage('slow', { flops: 1e9, readBandwidth: 1e12 }),
      '@quern/backend-cpu': brokenPackage('it will not do', code),
    });

  afterEach(() => {
    delete process.env.QUERN_CPU_ISA;
  });

  test('threads: no fallback to another backend', async () => {
    const resolveFrom = refusing('BAD_ARGUMENT');
    await expect(loadModel(await writeTinyModel(), { resolveFrom, threads: 999 })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      message: expect.stringContaining('it will not do'),
    });
    expect((await madeBy(resolveFrom, '@quern/backend-slow')).every(({ disposed }) => disposed)).toBe(true);
    using model = await loadModel(await writeTinyModel(), { resolveFrom });
    expect(model.backend).toBe('slow');
  });

  test('precision: no fallback to another backend', async () => {
    const resolveFrom = refusing('BAD_ARGUMENT');
    await expect(
      loadModel(await writeTinyModel(), { resolveFrom, precision: 'exact' }),
    ).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      message: expect.stringContaining('it will not do'),
    });
    expect((await madeBy(resolveFrom, '@quern/backend-slow')).every(({ disposed }) => disposed)).toBe(true);
  });

  test('QUERN_CPU_ISA: no fallback to another backend', async () => {
    const resolveFrom = refusing('UNSUPPORTED');
    process.env.QUERN_CPU_ISA = 'mmx';
    await expect(loadModel(await writeTinyModel(), { resolveFrom })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
    });
    delete process.env.QUERN_CPU_ISA;
    using model = await loadModel(await writeTinyModel(), { resolveFrom, threads: 2 });
    expect(model.backend).toBe('slow');
  });
});

test('describeDevices measures, reports and disposes', async () => {
  const resolveFrom = makeApplication({
    '@quern/backend-slow': backendPackage('slow', { flops: 1e9, readBandwidth: 1e12 }),
    'fast-by-others': backendPackage(
      'fast',
      { flops: 1e12, readBandwidth: 1e9 },
      { ceilings: '({ readBandwidth: 2e9, readBandwidthOneThread: 1e9, rates: { f32: 3e12 } })' },
    ),
    '@quern/backend-broken': brokenPackage('there is no such device'),
    'worn-out': backendPackage(
      'worn-out',
      { flops: 1, readBandwidth: 1 },
      { ceilings: 'Promise.reject(new Error("it is too hot"))' },
    ),
  });
  const reports = await describeDevices({ resolveFrom });
  expect(reports[0]).toMatchObject({
    backend: 'fast',
    profile: { flops: 1e12 },
    ceilings: { readBandwidth: 2e9, readBandwidthOneThread: 1e9, rates: { f32: 3e12 } },
    capabilities: ['pagedKv', 'quantGptq', 'kvQuant', 'graph', 'timer'],
  });
  expect(reports[1]).toMatchObject({ backend: 'slow' });
  expect(reports[1]).not.toHaveProperty('ceilings');
  expect(reports).toContainEqual({ package: '@quern/backend-broken', error: 'there is no such device' });
  expect(reports).toContainEqual({
    package: 'worn-out',
    error: "[measureCeilings] the driver 'worn-out' failed: it is too hot",
  });
  for (const name of ['fast-by-others', 'worn-out'])
    expect((await madeBy(resolveFrom, name)).map(({ disposed }) => disposed)).toEqual([true]);
});

test('describeDevices with measure: each device is measured again; a failure beside estimates is told', async () => {
  const resolveFrom = makeApplication({
    'as-kept': backendPackage(
      'as-kept',
      { flops: 1e12, readBandwidth: 1e9 },
      { ceilings: '({ readBandwidth: 2e9, rates: { f32: again ? 4e12 : 3e12 } })' },
    ),
    estimating: backendPackage(
      'estimating',
      { flops: 1e9, readBandwidth: 1e9, estimated: true },
      { ceilings: 'Promise.reject(new Error("it is too hot"))' },
    ),
  });
  const [kept, estimating] = await describeDevices({ resolveFrom });
  expect(kept).toMatchObject({ backend: 'as-kept', ceilings: { rates: { f32: 3e12 } } });
  expect(estimating).toMatchObject({ backend: 'estimating', profile: { estimated: true } });
  expect(estimating).not.toHaveProperty('ceilings');
  expect(estimating).not.toHaveProperty('unmeasured');
  expect(await describeDevices({ resolveFrom, measure: true })).toMatchObject([
    { backend: 'as-kept', ceilings: { rates: { f32: 4e12 } } },
    {
      backend: 'estimating',
      profile: { estimated: true },
      unmeasured: "[measureCeilings] the driver 'estimating' failed: it is too hot",
    },
  ]);
  for (const name of ['as-kept', 'estimating'])
    expect((await madeBy(resolveFrom, name)).every(({ disposed }) => disposed)).toBe(true);
});

describe('a package with several devices', () => {
  const twoDevices = (nameOf = (index: string) => `'twin:' + ${index}`, names = ['Left', 'Right']) => ({
    quern: { backend: './index.mjs' },
    files: {
      'index.mjs': `
        import { defineBackend } from '@quern/core';
        import { referenceDriver } from '@quern/backend-reference';
        export const devices = async () =>
          ${JSON.stringify(names)}.map((name, index) => ({ index, name, totalMemory: 1e9 }));
        export async function createBackend({ device }) {
          const driver = referenceDriver();
          const profile = { ...driver.profile, name: ${JSON.stringify(names)}[device], flops: 1e9 * (1 + device) };
          return defineBackend({ ...driver, name: ${nameOf('device')}, profile });
        }`,
    },
  });
  const resolveFrom = makeApplication({ '@quern/backend-twin': twoDevices() });

  test('each device is a backend, fastest first', async () => {
    const found = await findBackends({ resolveFrom });
    expect(found.map(({ backend }) => [backend!.name, backend!.profile.name])).toEqual([
      ['twin:1', 'Right'],
      ['twin:0', 'Left'],
    ]);
    for (const { backend } of found) backend?.dispose();
    const reports = await describeDevices({ resolveFrom });
    expect(reports).toMatchObject([{ backend: 'twin:1' }, { backend: 'twin:0', filled: {} }]);
  });

  test.each([
    ['twin', 'twin:0'],
    ['twin:1', 'twin:1'],
    ['@quern/backend-twin:1', 'twin:1'],
    ['@quern/backend-twin', 'twin:0'],
  ])('%s is %s', async (asked, name) => {
    const { backend } = await findBackend(asked, { resolveFrom });
    expect(backend.name).toBe(name);
    backend.dispose();
  });

  test('a missing device: the error lists the devices', async () => {
    await expect(findBackend('twin:2', { resolveFrom })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      message: 'twin:2 cannot be used (UNSUPPORTED): there is no device 2; there are 0 (Left), 1 (Right)',
      cause: { name: 'BackendError', code: 'UNSUPPORTED' },
    });
    const one = makeApplication({
      '@quern/backend-slow': backendPackage('slow', { flops: 1e9, readBandwidth: 1e9 }),
    });
    await expect(findBackend('slow:1', { resolveFrom: one })).rejects.toThrow('there is no device 1');
    (await findBackend('slow:0', { resolveFrom: one })).backend.dispose();
  });

  const packageFolder = join(resolveFrom, 'node_modules/@quern/backend-twin');

  test.each([
    ['twin', 1],
    ['twin', 0],
    ['twin:1', 1],
    ['@quern/backend-twin', 1],
    [packageFolder, 1],
    [`${packageFolder}:1`, 1],
    [`${packageFolder}:1`, undefined],
    [`${pathToFileURL(packageFolder).href}:1`, undefined],
    [join(packageFolder, 'index.mjs:1'), undefined],
  ])('%s with the option device %p', async (asked, device) => {
    const backendOptions = device === undefined ? {} : { device };
    const { backend } = await findBackend(asked, { resolveFrom, backendOptions });
    expect(backend.name).toBe(`twin:${device ?? 1}`);
    backend.dispose();
  });

  test('a folder whose name ends like a device', async () => {
    const { files, quern } = backendPackage('slow', { flops: 1, readBandwidth: 1 });
    const app = makeApplication({ 'odd:1': { quern: quern!, files: files! } });
    (await findBackend(join(app, 'node_modules/odd:1'))).backend.dispose();
  });

  test('a split over devices that their options choose', async () => {
    using model = await loadModel(await writeTinyModel(), {
      resolveFrom,
      backend: 'twin',
      backendOptions: { device: 1 },
    });
    expect(model.backend).toBe('twin:1');
    const twice = loadModel(model.path, {
      resolveFrom,
      backend: 'twin,twin:1',
      backendOptions: { twin: { device: 1 } },
    });
    await expect(twice).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/'twin:1' twice/),
    });
  });

  test.each([
    ['twin', 5, 'BACKEND_FAILED', /^twin cannot be used \(UNSUPPORTED\): there is no device 5; there are/],
    ['twin', '1', 'BAD_OPTION', /^backendOptions\.device is '1' \(a string\): it must be a whole number/],
    ['twin', 1.5, 'BAD_OPTION', /1\.5: it must be a whole number/],
    ['twin', -1, 'BAD_OPTION', /-1: it must be a whole number/],
    ['twin:0', 1, 'BAD_OPTION', /name chooses device 0, backendOptions\.device is 1: give one/],
    [
      'twin:0',
      'x',
      'BAD_OPTION',
      /name chooses device 0, backendOptions\.device is 'x' \(a string\): it must be/,
    ],
    [`${packageFolder}:0`, 1, 'BAD_OPTION', /name chooses device 0, backendOptions\.device is 1: give one/],
  ])('%s with the option device %p: %s', async (backend, device, code, message) => {
    const loading = loadModel(await writeTinyModel(), { resolveFrom, backend, backendOptions: { device } });
    await expect(loading).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  test('of one device: only that', async () => {
    const one = makeApplication({ '@quern/backend-twin': twoDevices(undefined, ['Left']) });
    await expect(findBackend('twin:1', { resolveFrom: one })).rejects.toThrow(
      /there is no device 1; there is only 0 \(Left\)$/,
    );
  });

  test('of a package without devices: its own option', async () => {
    const echo = makeApplication({ 'backend-echo': brokenPackage('own') });
    await expect(
      findBackend('echo', { resolveFrom: echo, backendOptions: { device: '/dev/x' } }),
    ).rejects.toThrow('echo cannot be used: own');
    const kept = makeApplication({ slow: backendPackage('slow', { flops: 1, readBandwidth: 1 }) });
    const found = await findBackend('slow', { resolveFrom: kept, backendOptions: { device: 1 } });
    found.backend.dispose();
  });

  test('a driver’s name without the device number is refused', async () => {
    const nameless = makeApplication({ '@quern/backend-twin': twoDevices(() => "'twin'") });
    await expect(findBackend('twin:1', { resolveFrom: nameless })).rejects.toThrow("ends with ':1'");
  });
});

describe('a package without a usable device', () => {
  /** A package of GPUs; a device's backend is a copy of the reference. */
  const gpus = (devices: readonly object[]) => ({
    quern: { backend: './index.mjs' },
    files: {
      'index.mjs': `
        import { defineBackend } from '@quern/core';
        import { referenceDriver } from '@quern/backend-reference';
        export const asked = [];
        export const devices = async () => ${JSON.stringify(devices)};
        export async function createBackend({ device }) {
          asked.push(device);
          if (device === undefined) throw Object.assign(new Error('no driver'), { code: 'UNSUPPORTED' });
          return defineBackend({ ...referenceDriver(), name: 'gpu:' + device });
        }`,
    },
  });
  const slow = backendPackage('slow', { flops: 1, readBandwidth: 1 });
  const old = { index: 0, name: 'Old', totalMemory: 1e9, unusable: 'gpu:0 (Old) is too old' };
  const fresh = { index: 1, name: 'Fresh', totalMemory: 1e9 };
  const askedOf = async (folder: string) =>
    (await import(pathToFileURL(join(folder, 'node_modules/backend-gpu/index.mjs')).href)).asked;

  test.each([
    ['no device: in silence', [], []],
    [
      'a device that cannot be used: with a notice',
      [old],
      ["backend-gpu cannot be used: gpu:0 (Old) is too old. Going on with 'slow', which may be slower"],
    ],
  ])('auto passes on; %s', async (_, devices, notices) => {
    const resolveFrom = makeApplication({ slow, 'backend-gpu': gpus(devices) });
    const path = await writeTinyModel();
    const { warnings, result } = await warningsOf(() => loadModel(path, { resolveFrom }));
    using model = result;
    expect([model.backend, warnings]).toEqual(['slow', notices]);
    expect(model.plan.reasons.filter((reason) => reason.includes('gpu'))).toEqual(notices);
  });

  test.each([
    ['gpu', 'gpu'],
    ['gpu:1', 'gpu:1'],
    ['auto', 'backend-gpu'],
  ])('%s alone: the reason of createBackend', async (backend, name) => {
    const resolveFrom = makeApplication({ 'backend-gpu': gpus([]) });
    await expect(loadModel(await writeTinyModel(), { resolveFrom, backend })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      message: `${name} cannot be used (UNSUPPORTED): no driver`,
      cause: { code: 'UNSUPPORTED', message: 'no driver' },
    });
  });

  test('describeDevices has a line for each device', async () => {
    const none = makeApplication({ 'backend-gpu': gpus([]) });
    expect(await describeDevices({ resolveFrom: none })).toEqual([
      { package: 'backend-gpu', error: 'no driver' },
    ]);
    const two = makeApplication({ 'backend-gpu': gpus([old, fresh]) });
    const reports = await describeDevices({ resolveFrom: two });
    expect(reports).toMatchObject([
      { backend: 'gpu:1' },
      { package: 'backend-gpu', error: 'gpu:0 (Old) is too old' },
    ]);
  });

  test('an unusable device is not opened; the name alone is the first usable one', async () => {
    const resolveFrom = makeApplication({ 'backend-gpu': gpus([old, fresh]) });
    await expect(findBackend('gpu:0', { resolveFrom })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      message: expect.stringContaining('gpu:0 (Old) is too old'),
    });
    const { backend } = await findBackend('gpu', { resolveFrom });
    expect([backend.name, await askedOf(resolveFrom)]).toEqual(['gpu:1', [1]]);
    backend.dispose();
  });
});
