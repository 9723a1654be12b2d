// docs/examples/architecture as its author and its users have it: built with TypeScript, installed as a package, used by the
// command, from ESM and from CommonJS. The model is a tiny random one.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup.mjs';

const [D, F, V, layers] = [16, 24, 257, 2];

/** GPT-2's characters for the 256 bytes: printable ones stand for themselves. */
const byteCharacters = () => {
  let next = 256;
  const isPrintable = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++));
};

const shapes = () => {
  const layer = {
    'self_attn.q_proj': [D, D],
    'self_attn.k_proj': [D, D],
    'self_attn.v_proj': [D, D],
    'self_attn.o_proj': [D, D],
    'self_attn.q_norm': [D],
    'self_attn.k_norm': [D],
    post_attention_layernorm: [D],
    post_feedforward_layernorm: [D],
    'mlp.gate_proj': [F, D],
    'mlp.up_proj': [F, D],
    'mlp.down_proj': [D, F],
  };
  const ofLayers = Array.from({ length: layers }, (_, i) =>
    Object.entries(layer).map(([name, shape]) => [`model.layers.${i}.${name}.weight`, shape]),
  );
  const ends = { 'model.embed_tokens.weight': [V, D], 'model.norm.weight': [D], 'lm_head.weight': [V, D] };
  return { ...ends, ...Object.fromEntries(ofLayers.flat()) };
};

/** The safetensors file of these shapes; the same numbers each time. */
function safetensors(tensors) {
  let end = 0;
  const header = Object.entries(tensors).map(([name, shape]) => {
    const begin = end;
    end += 4 * shape.reduce((product, size) => product * size, 1);
    return [name, { dtype: 'F32', shape, data_offsets: [begin, end] }];
  });
  const values = Float32Array.from({ length: end / 4 }, (_, i) => Math.sin(i * i + i));
  const json = Buffer.from(JSON.stringify(Object.fromEntries(header)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, new Uint8Array(values.buffer)]);
}

/** Writes the model's folder. */
export function writePumice(folder) {
  const config = {
    architectures: ['PumiceForCausalLM'],
    hidden_size: D,
    intermediate_size: F,
    num_hidden_layers: layers,
    num_attention_heads: 2,
    vocab_size: V,
    max_position_embeddings: 64,
    tie_word_embeddings: false,
  };
  const end = { id: 256, content: '<|endoftext|>', special: true, normalized: false };
  const vocab = Object.fromEntries(byteCharacters().map((letter, id) => [letter, id]));
  const tokenizer = {
    added_tokens: [end],
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab, merges: [] },
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  writeFileSync(join(folder, 'model.safetensors'), safetensors(shapes()));
}

/** Loads the model in a process of its own, and prints its architecture and four tokens. */
const program = (imports) => `${imports}
(async () => {
  const model = await loadModel(process.argv[2], { context: 32 });
  const { text } = await model.generate('a', { maxTokens: 4, temperature: 0 }).result;
  console.log(JSON.stringify({ text }));
  model.dispose();
})();`;
const programs = {
  'esm.mjs': program("import { loadModel } from '@quern/runtime';"),
  'commonjs.cjs': program("const { loadModel } = require('@quern/runtime');"),
  'other-copy.cjs': program(
    "const { loadModel: load } = require('@quern/runtime');\n" +
      "const loadModel = async (...given) => import('quern-pumice/register').then(() => load(...given)); // ESM's copy of models",
  ),
  'registered.mjs': program("import 'quern-pumice/register';\nimport { loadModel } from '@quern/runtime';"),
};

/** The author's folder: a copy of the example, built. Returns the tarball of its package. */
async function buildPackage({ work, npmInstall, run }) {
  const folder = join(work, 'quern-pumice');
  cpSync(join(root, 'docs/examples/architecture'), folder, { recursive: true });
  const tools = ['@quern/core', '@quern/models', 'quern', '@types/node@20'];
  await npmInstall(['--save-dev', ...tools], { cwd: folder });
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], { cwd: folder });
  await run('npm', ['pack', '--pack-destination', work, '--silent'], { cwd: folder });
  return { folder, tarball: join(work, 'quern-pumice-0.1.0.tgz') };
}

/**
 * Checks the example.
 * @param tools `work`: an empty folder; `npmInstall(args, options)`, `run(command, args, options)`, `attempt(name, act)` and
 * `expectText(text, pattern)`
 */
export async function checkArchitecture(tools) {
  const { work, npmInstall, run, attempt, expectText } = tools;
  const model = join(work, 'pumice');
  writePumice(model);
  let built;
  await attempt('an architecture’s package compiles', async () => {
    built = await buildPackage(tools);
  });
  if (!built) return;
  const app = join(work, 'pumice-app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{"name": "pumice-app", "private": true}');
  await npmInstall(['quern', '@quern/runtime', '@quern/backend-cpu', built.tarball], { cwd: app });
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(app, name), text);
  const quern = (args, cwd = app) => run(join(cwd, 'node_modules/.bin/quern'), args, { cwd });
  const words = ['-p', 'a', '-n', '4', '--temperature', '0', '--json'];
  const textOf = async (path, cwd) => JSON.parse((await quern(['run', path, ...words], cwd)).stdout).text;

  let expected;
  await attempt('quern run with an architecture of a package', async () => {
    expected = await textOf(model);
    return typeof expected === 'string' ? [] : [`printed ${expected}`];
  });
  await attempt('quern run in the package’s own folder', async () => {
    const text = await textOf(model, built.folder);
    return text === expected ? [] : [`${JSON.stringify(text)} instead of ${JSON.stringify(expected)}`];
  });
  await attempt('quern inspect', async () =>
    expectText((await quern(['inspect', model, '--json'])).stdout, /"architecture":"pumice"/),
  );
  await attempt('quern quantize, and its file', async () => {
    const path = join(app, 'pumice.gguf');
    await quern(['quantize', model, path, 'f32']);
    const text = await textOf(path);
    return text === expected ? [] : [`${JSON.stringify(text)} instead of ${JSON.stringify(expected)}`];
  });
  await attempt('quern devices lists the package', async () =>
    expectText(
      (await quern(['devices'])).stdout,
      /^quern-pumice: architecture pumice \(pumice, PumiceForCausalLM\)$/m,
    ),
  );
  const loads = (name) =>
    attempt(`loadModel with an architecture of a package: ${name}`, async () => {
      const { text } = JSON.parse((await run(process.execPath, [name, model], { cwd: app })).stdout);
      return text === expected ? [] : [`${JSON.stringify(text)} instead of ${JSON.stringify(expected)}`];
    });
  await loads('esm.mjs');
  await loads('commonjs.cjs');
  await attempt('not among the dependencies: the error says how to add it', async () => {
    const manifest = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'));
    delete manifest.dependencies['quern-pumice'];
    writeFileSync(join(app, 'package.json'), JSON.stringify(manifest));
    const refused = await quern(['run', model, ...words]).catch((error) => error);
    return expectText(
      refused.stderr,
      /'PumiceForCausalLM' is not known.*"quern": \{"architectures".*No package in/s,
    );
  });
  await loads('registered.mjs');
  await loads('other-copy.cjs');
}
