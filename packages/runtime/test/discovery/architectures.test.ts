import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend } from '@quern/backend-reference';
import {
  llama,
  ModelError,
  makeSyntheticEncoder,
  registerArchitecture,
  registeredArchitectures,
} from '@quern/models';
import {
  describeFile,
  loadArchitectures,
  loadEmbedder,
  loadModel,
  loadSpeechModel,
  modelKind,
  openModelFile,
  openTokenizer,
  planModel,
} from '../../src/index.js';
import { type MadePackage, makeApplication } from '../application.js';
import { writeTinyModel } from '../tiny-model.js';
import { warningsOf } from '../warnings.js';

/** A package that exports architectures with Llama's forward pass. */
const exporting = (...names: readonly string[]): MadePackage => ({
  quern: { architectures: './index.mjs' },
  files: {
    'index.mjs': `
      import { llama } from '@quern/models';
      export const architectures = ${JSON.stringify(names)}.map((name) =>
        ({ ...llama, name, names: { gguf: [name], huggingFace: [] } }));`,
  },
});

const fileOf = (module: string, text: string): MadePackage => ({
  quern: { architectures: module },
  files: { [module]: text },
});

const refusal = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

const backend = await createBackend();
afterAll(() => backend.dispose());
const loadable = { backend, context: 32 };

test('a model whose architecture an installed package brings: every way to open it', async () => {
  const resolveFrom = makeApplication({ 'quern-basalt': exporting('basalt') });
  const path = await writeTinyModel({ architecture: 'basalt' });
  expect(await modelKind(path, resolveFrom)).toBe('language');
  using model = await loadModel(path, { ...loadable, resolveFrom });
  const { text } = await model.generate('a', { maxTokens: 2 }).result;
  expect(text.length).toBeGreaterThan(0);
  expect((await describeFile(path, resolveFrom)).model).toMatchObject({ architecture: 'basalt' });
  expect((await openModelFile(path, { resolveFrom })).architecture.name).toBe('basalt');
  expect((await openTokenizer(path, resolveFrom)).encode('a').length).toBeGreaterThan(0);
  expect((await planModel(path, { ...loadable, resolveFrom })).context).toBe(32);
  await expect(loadSpeechModel(path, { resolveFrom })).rejects.toEqual(
    refusal('WRONG_KIND', /language model/),
  );
  using embedder = await loadEmbedder(path, { backend, resolveFrom, onNotice: () => {} });
  expect((await embedder.embed(['a'])).dimensions).toBe(16);
});

test('an outside encoder, for a file that its package accepts', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'quern-silt-')), 'silt.gguf');
  await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32' });
  const resolveFrom = makeApplication({
    'quern-silt': fileOf(
      './index.mjs',
      `import { bert } from '@quern/models';
       export const architectures = [{ ...bert, name: 'silt', accepts: ({ path }) => path === ${JSON.stringify(path)} }];`,
    ),
  });
  expect((await describeFile(path, resolveFrom)).model).toMatchObject({
    kind: 'encoder',
    architecture: 'silt',
  });
});

test('a module that registers while it loads, a CommonJS module, a list of several', async () => {
  const resolveFrom = makeApplication({
    'quern-marl': fileOf(
      './index.mjs',
      `import { llama, registerArchitecture } from '@quern/models';
       registerArchitecture({ ...llama, name: 'marl', names: { gguf: ['marl'], huggingFace: [] } });`,
    ),
    'quern-loess': fileOf(
      './index.cjs',
      `const { llama } = globalThis.llamaOfTest;
       module.exports = { architectures: [{ ...llama, name: 'loess', names: { gguf: ['loess'], huggingFace: [] } }] };`,
    ),
    'quern-rocks': exporting('gneiss', 'schist'),
    'not-a-model': {},
  });
  Object.assign(globalThis, { llamaOfTest: { llama } });
  const found = await loadArchitectures(resolveFrom);
  expect(
    found.map((report) =>
      'error' in report ? report : [report.package, report.architectures.map(({ name }) => name)],
    ),
  ).toEqual([
    ['quern-marl', ['marl']],
    ['quern-loess', ['loess']],
    ['quern-rocks', ['gneiss', 'schist']],
  ]);
  const path = await writeTinyModel({ architecture: 'marl' });
  expect(await modelKind(path, resolveFrom)).toBe('language');
});

test('an unknown architecture: the folders searched, and what their packages bring', async () => {
  const path = await writeTinyModel({ architecture: 'martian' });
  const none = makeApplication({});
  await expect(modelKind(path, none)).rejects.toEqual(
    refusal(
      'UNKNOWN_ARCHITECTURE',
      /'martian' is not known; known in GGUF files: llama.*docs\/writing-a-model\.md\. No package in the dependencies of .*quern-app-\w+ declares architectures\. In a bundle .* \/register: docs\/guide\/bundlers\.md$/,
    ),
  );
  const some = makeApplication({
    'quern-tuff': exporting('tuff'),
    'quern-cut': fileOf('./index.mjs', 'export const architecture = 3;'),
  });
  const { warnings } = await warningsOf(async () => {
    await expect(modelKind(path, some)).rejects.toThrow(ModelError);
    await expect(modelKind(path, some)).rejects.toEqual(
      refusal(
        'UNKNOWN_ARCHITECTURE',
        /In the dependencies of .* these packages declare architectures: quern-tuff \(tuff\); quern-cut, which does not load: \.\/index\.mjs must export a list named architectures$/,
      ),
    );
  });
  expect(warnings).toEqual([
    'the architectures of quern-cut do not load: ./index.mjs must export a list named architectures',
  ]);
});

test('a package that does not load leaves other models alone: one notice per process', async () => {
  const resolveFrom = makeApplication({
    'quern-bad': fileOf('./index.mjs', "export const architectures = [{ name: 'bad' }];"),
    'quern-gone': { quern: { architectures: './gone.mjs' } },
  });
  const path = await writeTinyModel();
  const notices: string[] = [];
  const options = { ...loadable, resolveFrom, onNotice: (text: string) => notices.push(text) };
  for (let round = 0; round < 2; round++) (await loadModel(path, options)).dispose();
  expect(notices).toEqual([
    "the architectures of quern-bad do not load: architecture 'bad': names.gguf must be a list of strings; it is undefined",
    expect.stringMatching(/^the architectures of quern-gone do not load: .*gone\.mjs/),
  ]);
});

test('two packages with one name: the error names both', async () => {
  const resolveFrom = makeApplication({
    'quern-shale': exporting('shale'),
    '@else/shale': exporting('shale'),
  });
  await expect(modelKind(await writeTinyModel({ architecture: 'shale' }), resolveFrom)).rejects.toEqual(
    refusal(
      'DUPLICATE_ARCHITECTURE',
      /'shale' of the package quern-shale, 'shale' of the package @else\/shale/,
    ),
  );
  expect(await modelKind(await writeTinyModel(), resolveFrom)).toBe('language');
});

test('a package in the place of Quern’s own: a notice', async () => {
  const resolveFrom = makeApplication({ 'quern-qwen2': exporting('qwen2') });
  const notices: string[] = [];
  const path = await writeTinyModel({ architecture: 'qwen2' });
  const options = { ...loadable, resolveFrom, onNotice: (text: string) => notices.push(text) };
  (await loadModel(path, options)).dispose();
  expect(notices).toEqual([
    expect.stringMatching(/the package quern-qwen2 brings the architecture 'qwen2', .* Quern's own 'qwen2'/),
  ]);
});

test('a package that the program has imported itself is not loaded a second time', async () => {
  registerArchitecture(
    { ...llama, name: 'adobe', names: { gguf: ['adobe'], huggingFace: [] } },
    { package: 'quern-adobe' },
  );
  const resolveFrom = makeApplication({ 'quern-adobe': fileOf('./index.mjs', 'throw new Error("again");') });
  expect(await loadArchitectures(resolveFrom)).toEqual([
    { package: 'quern-adobe', architectures: [expect.objectContaining({ name: 'adobe' })] },
  ]);
  expect(registeredArchitectures().filter((entry) => entry.package === 'quern-adobe')).toHaveLength(1);
});

test('in the package’s own folder, where its author tries it', async () => {
  const resolveFrom = makeApplication({});
  const { files, quern } = exporting('chalk');
  writeFileSync(join(resolveFrom, 'index.mjs'), files!['index.mjs']!);
  writeFileSync(join(resolveFrom, 'package.json'), JSON.stringify({ name: 'quern-chalk', quern }));
  expect(await modelKind(await writeTinyModel({ architecture: 'chalk' }), resolveFrom)).toBe('language');
});
