// The public API, called like from an application. `packages`: the modules by name; `folder` has the audio files.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const greedy = { maxTokens: 8, temperature: 0 };
const quick = { language: 'en', temperatures: [0], maxTokens: 4 };

/** A driver with only the required ops: the definitions, under another name. */
function smallDriver({ reference }) {
  const { name: _name, capabilities: _capabilities, ...driver } = reference.referenceDriver();
  return { ...driver, name: 'small', capabilities: { pagedKv: { blockSizes: [16] } } };
}

/** A sine as a WAV file, 16 bits, 16 kHz. */
function writeWave(path) {
  const head = Buffer.from('RIFF....WAVEfmt ....................data....', 'latin1');
  const samples = Int16Array.from({ length: 4800 }, (_, i) => 9000 * Math.sin(i / 9));
  for (const [at, value] of [
    [4, 36 + samples.byteLength],
    [16, 16],
    [24, 16_000],
    [28, 32_000],
    [40, samples.byteLength],
  ])
    head.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ])
    head.writeUInt16LE(value, at);
  writeFileSync(path, Buffer.concat([head, Buffer.from(samples.buffer)]));
}

/** The server's page, with every file that it names. */
async function needPage(url) {
  const paths = new Set(['']);
  for (const path of paths) {
    const response = await fetch(new URL(path, url), { headers: { accept: 'text/html' } });
    assert.equal(response.status, 200, path);
    const text = await response.text();
    for (const [, name] of text.matchAll(
      /(?:from |import |src=|href=)['"](?:\.|page)\/([a-z]+\.[a-z]+)['"]/g,
    ))
      paths.add(`page/${name}`);
  }
  for (const name of ['style.css', 'chat.js', 'marked.js']) assert.ok(paths.has(`page/${name}`), name);
}

/** A Hub with one repository, owner/demo, which sends its file without a storage and without ranges. */
async function startHub(bytes) {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const siblings = [{ rfilename: 'demo-Q8_0.gguf', size: bytes.length, lfs: { sha256 } }];
  const seen = [];
  const server = createServer((request, response) => {
    seen.push(request.url);
    if (request.url.startsWith('/api/models/owner/demo/revision/main'))
      response.end(JSON.stringify({ sha: 'c'.repeat(40), siblings }));
    else response.writeHead(200, { etag: `"${sha256}"`, 'content-length': bytes.length }).end(bytes);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { endpoint: `http://127.0.0.1:${server.address().port}`, seen, server };
}

export const apiCases = (packages, folder) => ({
  async 'generate and abort'() {
    const { loadModel, Model, Generation } = packages.runtime;
    const model = await loadModel('demo', { backend: 'cpu' });
    assert.ok(model instanceof Model);
    const generation = model.generate('Once upon a time', greedy);
    assert.ok(generation instanceof Generation);
    assert.equal((await generation.result).tokens.length, 8);
    const ending = new AbortController();
    const pieces = model.generate('Once', { signal: ending.signal });
    for await (const _piece of pieces) ending.abort();
    assert.equal((await pieces.result).reason, 'abort');
    model.dispose();
  },
  async 'chat and session'() {
    const model = await packages.runtime.loadModel('demo', { chatTemplate: 'chatml' });
    const messages = [{ role: 'user', content: 'Hello' }];
    assert.ok((await model.chat(messages, greedy).result).promptTokens > 0);
    const session = model.session();
    assert.ok(session instanceof packages.runtime.Session);
    const text = 'Once upon a time there was a fox. '.repeat(4); // more than a block of the cache
    await session.generate(text, greedy).result;
    assert.ok((await session.generate(`${text}One day`, greedy).result).cachedTokens > 0);
    model.dispose();
  },
  async 'errors that somebody sees'() {
    const { loadModel, tool } = packages.runtime;
    const model = await loadModel('demo', { chatTemplate: 'chatml' });
    assert.throws(() => model.generate('Hello', { temprature: 1 }), { code: 'BAD_OPTION' });
    assert.throws(() => model.chat([{ role: 'usr', content: 'Hello' }]), { code: 'BAD_ARGUMENT' });
    assert.throws(() => tool({ name: 'f', execute() {} }), { code: 'BAD_OPTION' });
    const rejected = once(process, 'unhandledRejection');
    void model.generate('word '.repeat(5000), { maxTokens: 1 }).result;
    assert.equal((await rejected)[0].code, 'PROMPT_TOO_LONG');
    model.dispose();
  },
  async tokenizers() {
    const tokenizer = await packages.runtime.openTokenizer(packages.demo.demoModelPath);
    const ids = await tokenizer.encode('Once upon a time');
    assert.match(tokenizer.decode(ids), /Once upon a time/);
  },
  async 'embed and rerank'() {
    const { loadEmbedder, Embedder, makeSyntheticEncoder } = packages.runtime;
    const path = join(folder, `encoder-${packages.kind}.gguf`);
    await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32', ranks: true });
    const model = await loadEmbedder(path);
    assert.ok(model instanceof Embedder);
    const { values } = await model.embed(['a mill', 'a river']);
    assert.ok(values.length > 0 && values.every(Number.isFinite));
    assert.equal((await model.rerank('a mill', ['one', 'two'])).ranked.length, 2);
    model.dispose();
  },
  async 'transcribe WAV, FLAC, MP3, Vorbis and Opus'() {
    const { loadSpeechModel, makeSyntheticSpeechModel, SpeechModel, Transcription } = packages.runtime;
    const path = join(folder, `whisper-${packages.kind}.gguf`);
    await makeSyntheticSpeechModel(path, { shape: 'whisper-test', format: 'f32' });
    const model = await loadSpeechModel(path);
    assert.ok(model instanceof SpeechModel);
    writeWave(join(folder, 'tone.wav'));
    for (const file of ['tone.wav', 'tone.flac', 'tone.mp3', 'tone.ogg', 'tone.opus', 'tone.webm']) {
      const transcription = model.transcribe(join(folder, file), quick);
      assert.ok(transcription instanceof Transcription);
      assert.ok((await transcription.result).duration > 0.05, file);
    }
    const stopped = model.transcribe(join(folder, 'tone.mp3'), { signal: AbortSignal.abort() });
    await assert.rejects(stopped.result, { name: 'AbortError', code: 'ABORTED' });
    const broken = model.transcribe(Buffer.from('ID3\x04\0\0\0\0\0\0 nothing')).result;
    await assert.rejects(broken, { name: 'AudioError', code: 'DECODE_FAILED' });
    model.dispose();
  },
  async 'quantize, with threads'() {
    const path = join(folder, `q4-${packages.kind}.gguf`);
    await packages.runtime.quantizeModel('demo', path, { mix: 'q4_0', threads: 2 });
    assert.equal(readFileSync(path).subarray(0, 4).toString(), 'GGUF');
  },
  async 'devices, and the native backend among them'() {
    const found = await packages.runtime.describeDevices();
    const names = found.flatMap(({ backend = [] }) => backend);
    assert.deepEqual(names.sort(), ['cpu', 'reference']);
  },
  async 'errors, by class and by code'() {
    const { BackendError, FileError, loadModel, ModelError, QuernError, RuntimeError } = packages.runtime;
    assert.equal(packages.core.QuernError, QuernError);
    for (const type of [BackendError, FileError, ModelError, RuntimeError])
      assert.ok(type.prototype instanceof Error);
    const missing = await loadModel('nosuch').catch((error) => error);
    assert.ok(missing instanceof RuntimeError && missing instanceof QuernError);
    assert.equal(missing.code, 'MODEL_NOT_FOUND');
  },
  async 'a driver of an application'() {
    const backend = packages.core.defineBackend(smallDriver(packages));
    const model = await packages.runtime.loadModel('demo', { backend, context: 64 });
    assert.equal((await model.generate('Once', { ...greedy, maxTokens: 2 }).result).tokens.length, 2);
    model.dispose();
    backend.dispose();
  },
  async 'structured output'() {
    const model = await packages.runtime.loadModel('demo', { context: 64 });
    const { value } = await model.generate('Once', { schema: { enum: ['a', 'b'] } }).result;
    assert.ok(value === 'a' || value === 'b');
    model.dispose();
  },
  async 'a model by name'() {
    const { HubError, list, pull } = packages.hub;
    const { endpoint, seen, server } = await startHub(readFileSync(packages.demo.demoModelPath));
    const cacheDir = mkdtempSync(join(tmpdir(), 'quern-hub-'));
    Object.assign(process.env, { HF_ENDPOINT: endpoint, HF_HUB_CACHE: cacheDir });
    const pulled = await pull('hf:owner/demo');
    const model = await packages.runtime.loadModel('hf:owner/demo:Q8_0', { context: 64 });
    assert.equal(model.path, pulled.path);
    assert.equal((await list())[0].name, 'hf:owner/demo:Q8_0');
    assert.equal(seen.length, 2);
    model.dispose();
    await assert.rejects(packages.runtime.loadModel('hf:../x'), (error) => error instanceof HubError);
    server.close();
  },
  async 'a server'() {
    const model = await packages.runtime.loadModel('demo', { context: 64 });
    const server = await packages.server.serve({ models: { demo: model }, port: 0 });
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], max_tokens: 3, temperature: 0 }),
    });
    assert.equal((await response.json()).usage.completion_tokens, 3);
    await needPage(server.url);
    await server.close();
    model.dispose();
  },
  async 'the provider for the AI SDK'() {
    const model = await packages.runtime.loadModel('demo', { context: 64, chatTemplate: 'chatml' });
    const quern = packages.aiProvider.createQuern({ models: { demo: model } });
    const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }];
    const { usage } = await quern('demo').doGenerate({ prompt, maxOutputTokens: 3, temperature: 0 });
    assert.equal(usage.outputTokens.total, 3);
    assert.throws(() => quern('none'), { name: 'AI_NoSuchModelError' });
    model.dispose();
  },
  async 'the conformance kit'() {
    const { formatReport, runConformance } = packages.conformance;
    const report = await runConformance({
      createDriver: () => smallDriver(packages),
      only: { suites: ['lifecycle', 'errors'] },
    });
    assert.ok(report.passed > 0 && report.failed === 0, formatReport(report));
  },
  /** A backend made with the other copy of core (the other module system's). */
  async 'two copies of core'() {
    const { core, createBackend } = packages.other;
    assert.notEqual(core.QuernError, packages.core.QuernError);
    const backend = await createBackend();
    const model = await packages.runtime.loadModel('demo', { backend });
    const ending = new AbortController();
    const generation = model.generate('Once', { signal: ending.signal });
    for await (const _piece of generation) ending.abort();
    assert.equal((await generation.result).reason, 'abort');
    model.dispose();
    backend.dispose();
    const { BackendError, QuernError } = packages.core;
    assert.throws(
      () => backend.step(),
      (error) => error instanceof BackendError && error instanceof QuernError,
    );
  },
});
