import { createBackend } from '@quern/backend-reference';
import type { Backend, Tensor } from '@quern/core';
import type { MetadataInput } from '@quern/quant';
import {
  type Architecture,
  bert,
  type Decoder,
  hasArchitecture,
  knownArchitectures,
  llama,
  llamaWeights,
  loadEncoder,
  loadLanguageModel,
  makeSyntheticEncoder,
  openEncoderFile,
  openModelFile,
  openSpeechModel,
  type RegisteredArchitecture,
  registerArchitecture,
  registeredArchitectures,
  registeringFor,
} from '../src/index.js';
import { llamaMetadata, scratch, writeLlama } from './model-files.js';
import { sequenceLogits } from './run-model.js';

const refusal = (code: string, message: RegExp | string) =>
  expect.objectContaining({
    code,
    message: typeof message === 'string' ? message : expect.stringMatching(message),
  });

/** Llama under another name. */
const named = (name: string, changes: Partial<Architecture> = {}): Architecture => ({
  ...llama,
  name,
  names: { gguf: [name], huggingFace: [] },
  ...changes,
});

/** A tiny random Llama whose file names another architecture. */
function write(architecture: string, more: Readonly<Record<string, MetadataInput>> = {}): Promise<string> {
  const metadata = Object.entries({ ...llamaMetadata, ...more }).map(([key, value]) => [
    key.replace(/^llama\./, `${architecture}.`),
    value,
  ]);
  return writeLlama(`${architecture}.gguf`, {
    metadata: {
      ...Object.fromEntries(Object.keys(llamaMetadata).map((key) => [key, undefined])),
      ...Object.fromEntries(metadata),
      'general.architecture': architecture,
    },
  });
}

/** Registers an object of JavaScript. */
const registerAny: (value: never, options?: { readonly package?: string }) => void = registerArchitecture;

describe('names', () => {
  test('a third party registers an architecture, which files then name', async () => {
    const path = await write('rhyolite');
    await expect(openModelFile(path)).rejects.toEqual(
      refusal(
        'UNKNOWN_ARCHITECTURE',
        /rhyolite\.gguf: the architecture 'rhyolite' is not known; known in GGUF files: llama, qwen2, .*gemma-embedding\. A package can add one \("quern": \{"architectures".*registerArchitecture.*docs\/writing-a-model\.md$/,
      ),
    );
    expect(hasArchitecture('gguf', 'rhyolite')).toBe(false);
    registerArchitecture(named('rhyolite'), { package: 'quern-rhyolite' });
    expect(hasArchitecture('gguf', 'rhyolite')).toBe(true);
    expect(hasArchitecture('huggingFace', 'rhyolite')).toBe(false);
    expect(knownArchitectures().at(-1)).toEqual({
      name: 'rhyolite',
      kind: 'language',
      names: { gguf: ['rhyolite'], huggingFace: [] },
      own: false,
      package: 'quern-rhyolite',
    });
    using backend = await createBackend();
    using model = await loadLanguageModel(await openModelFile(path), backend);
    expect(model.architecture).toBe('rhyolite');
  });

  test('Quern’s own are listed once, and known in both kinds of file', () => {
    const own = knownArchitectures().filter((each) => each.own);
    expect(own.map(({ name }) => name)).toEqual([
      'llama',
      'mistral',
      'qwen2',
      'qwen3',
      'mixtral',
      'qwen3moe',
      'qwen3next',
      'qwen35',
      'qwen35moe',
      'qwen3vl',
      'gemma2',
      'gemma3',
      'phi3',
      'phi2',
      'stablelm',
      'smollm3',
      'seed_oss',
      'exaone4',
      'granite',
      'lfm2',
      'gpt-oss',
      'glm4moe',
      'minimax-m2',
      'mistral3',
      'gptneox',
      'gpt2',
      'falcon',
      'command-r',
      'cohere2',
      'olmo2',
      'olmo3',
      'bert',
      'roberta',
      'nomic-bert',
      'nomic-bert-moe',
      'jina-bert-v3',
      'modern-bert',
      'eurobert',
      'gemma-embedding',
    ]);
    expect(own.filter(({ kind }) => kind === 'encoder')).toHaveLength(8);
    expect(hasArchitecture('huggingFace', 'Qwen3ForCausalLM')).toBe(true);
  });

  test('a package takes the place of Quern’s own, and loading says so once per load', async () => {
    const path = await write('qwen2');
    registerArchitecture(named('qwen2', { name: 'my-qwen' }), { package: 'quern-qwen' });
    const notices: string[] = [];
    using backend = await createBackend();
    const file = await openModelFile(path);
    using model = await loadLanguageModel(file, backend, { onNotice: (text) => notices.push(text) });
    expect(model.architecture).toBe('my-qwen');
    expect(notices).toEqual([
      `${path}: the package quern-qwen brings the architecture 'my-qwen', which takes the place of Quern's own 'qwen2'. Remove it to use Quern's`,
    ]);
  });

  test('a package takes some files of a name by `accepts`, silently; the others stay Quern’s', async () => {
    const deep: Architecture = {
      ...named('qwen3', { name: 'deep' }),
      accepts: (settings, naming) => naming === 'gguf' && settings.has('depth'),
    };
    registerArchitecture(deep);
    const notices: string[] = [];
    const file = await openModelFile(await write('qwen3', { 'llama.depth': 3 }));
    expect(file.architecture.name).toBe('deep');
    using backend = await createBackend();
    (await loadLanguageModel(file, backend, { onNotice: (text) => notices.push(text) })).dispose();
    expect(notices).toEqual([]);
    // Quern's Qwen 3 reads norms that a Llama lacks
    expect((await openModelFile(await write('qwen3'))).architecture.name).toBe('qwen3');
  });

  test('a name that its holder does not accept', async () => {
    registerArchitecture(named('picky', { accepts: () => false }), { package: 'quern-picky' });
    await expect(openModelFile(await write('picky'))).rejects.toEqual(
      refusal(
        'UNKNOWN_ARCHITECTURE',
        /'picky' is not known; 'picky' of the package quern-picky has this name, but does not accept this file; known/,
      ),
    );
  });

  test('two packages with one name: opening such a file names both, registering does not throw', async () => {
    registerArchitecture(named('shale'), { package: 'quern-shale' });
    registerArchitecture(named('shale'), { package: '@else/shale' });
    const path = await write('shale');
    await expect(openModelFile(path)).rejects.toEqual(
      refusal(
        'DUPLICATE_ARCHITECTURE',
        /shale\.gguf: two architectures have the GGUF name 'shale': 'shale' of the package quern-shale, 'shale' of the package @else\/shale\. Remove one/,
      ),
    );
    await expect(openEncoderFile(path)).rejects.toEqual(refusal('DUPLICATE_ARCHITECTURE', /shale/));
    // one of them accepts the file: no doubt
    registerArchitecture(named('shale', { accepts: () => true }), { package: 'quern-shale' });
    expect((await openModelFile(path)).architecture.accepts).toBeDefined();
  });

  test('registered again, by the same object or by the same package: the later one, without an error', async () => {
    const first = named('basalt');
    registerArchitecture(first);
    registerArchitecture(first, { package: 'quern-basalt' });
    const second = named('basalt');
    registerArchitecture(second, { package: 'quern-basalt' });
    expect(registeredArchitectures().filter(({ architecture: { name } }) => name === 'basalt')).toEqual([
      { architecture: second, package: 'quern-basalt' },
    ]);
  });

  test('what a module registers while it loads belongs to its package', async () => {
    const { result, added } = await registeringFor('quern-marl', async () => {
      registerArchitecture(named('marl'));
      return 7;
    });
    expect(result).toBe(7);
    expect(added.map((entry: RegisteredArchitecture) => entry.package)).toEqual(['quern-marl']);
    registerArchitecture(named('loam'));
    expect(registeredArchitectures().at(-1)).not.toHaveProperty('package');
  });

  test('another copy of @quern/models shares the list', async () => {
    const key = Symbol.for('@quern/models/architectures');
    const { list } = Reflect.get(globalThis, key) as { list: RegisteredArchitecture[] };
    list.push({ architecture: named('tuff'), package: 'quern-tuff' }); // as the other copy does
    expect((await openModelFile(await write('tuff'))).architecture.name).toBe('tuff');
  });

  test('an outside encoder', async () => {
    const path = scratch('silt.gguf');
    await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32' });
    registerArchitecture({
      ...bert,
      name: 'silt',
      names: { gguf: ['bert'], huggingFace: [] },
      accepts: ({ path: file }) => file === path,
    });
    const { architecture } = await openEncoderFile(path);
    expect(architecture.name).toBe('silt');
    expect(knownArchitectures().at(-1)).toMatchObject({ name: 'silt', kind: 'encoder' });
  });

  test('an outside decoder is no speech model, and embeds', async () => {
    const path = await write('rhyolite');
    registerArchitecture(named('rhyolite'), { package: 'quern-rhyolite' });
    await expect(openSpeechModel(path)).rejects.toEqual(refusal('WRONG_KIND', /language model/));
    expect(await openEncoderFile(path)).toMatchObject({ embeds: false, architecture: { name: 'rhyolite' } });
  });
});

describe('objects that are no architecture', () => {
  const { build: _, ...noBuild } = llama;
  const { q, ...others } = llama.weights.layer;
  const { readBy: __, ...noReadBy } = llamaWeights.model.outputNorm;
  const withLayer = (layer: object) => ({ ...llama, weights: { ...llama.weights, layer } });
  const { rename: ___, ...noRename } = bert;

  test.each<[string, unknown, string]>([
    [
      'nothing',
      undefined,
      '[registerArchitecture] an architecture is an object with a name (docs/writing-a-model.md); got undefined',
    ],
    [
      'a module instead of the object',
      { pumice: llama },
      '[registerArchitecture] an architecture is an object with a name (docs/writing-a-model.md); got an object',
    ],
    [
      'only a name',
      { name: 'pumice' },
      "architecture 'pumice': names.gguf must be a list of strings; it is undefined",
    ],
    [
      'a name as text',
      { ...llama, names: { gguf: 'llama', huggingFace: [] } },
      "architecture 'llama': names.gguf must be a list of strings; it is 'llama' (a string)",
    ],
    ['no build', noBuild, "architecture 'llama': build must be a function; it is undefined"],
    [
      'another kind',
      { ...llama, kind: 'decoder' },
      "architecture 'llama': kind must be 'encoder', or absent; it is 'decoder' (a string)",
    ],
    ['accepts', { ...llama, accepts: true }, "architecture 'llama': accepts must be a function; it is true"],
    [
      'weights',
      { ...llama, weights: 3 },
      "architecture 'llama': weights.model must be an object; it is undefined",
    ],
    [
      'an entry that is a list',
      withLayer({ ...others, q: ['attn_q'] }),
      "architecture 'llama': weights.layer.q.gguf must be a string; it is undefined",
    ],
    [
      'a shape that is a list',
      withLayer({ ...others, q: { ...q, shape: [32, 32] } }),
      "architecture 'llama': weights.layer.q.shape must be a function; it is [32, 32]",
    ],
    [
      'optional: false',
      withLayer({ ...others, q: { ...q, optional: false } }),
      "architecture 'llama': weights.layer.q.optional must be true, or absent; it is false",
    ],
    [
      'no readBy',
      { ...llama, weights: { ...llama.weights, model: { ...llama.weights.model, outputNorm: noReadBy } } },
      "architecture 'llama': weights.model.outputNorm.readBy must be a function that names the functions of the decoder that read it: () => ['embed'], ['logits'] or both; it is undefined",
    ],
    [
      'a form without row order',
      { ...llama, gguf: { name: 'llama' } },
      "architecture 'llama': gguf.rope must be 'halves', 'interleaved' or 'kept'; it is undefined",
    ],
    [
      'an encoder without rename',
      noRename,
      "architecture 'bert': rename must be a function; it is undefined",
    ],
  ])('%s', (_name, value, message) => {
    expect(() => registerAny(value as never)).toThrow(refusal('BAD_ARCHITECTURE', message));
  });
});

describe('functions of an architecture', () => {
  const open = async (name: string, changes: object) => {
    registerArchitecture({ ...named(name), ...changes }, { package: 'quern-odd' });
    return openModelFile(await write(name));
  };
  /** The message of the error that loading and running the model ends with. */
  const message = async (changes: object, backends = 1): Promise<string> => {
    using a = await createBackend();
    using b = await createBackend();
    const places =
      backends === 1
        ? a
        : [
            { backend: a, from: 0, to: 1 },
            { backend: b, from: 1, to: 2 },
          ];
    try {
      using model = await loadLanguageModel(await open('odd', changes), places);
      await sequenceLogits(model, [1, 2]);
    } catch (error) {
      const { code, message: text } = error as { code?: string; message: string };
      return `${code}: ${text}`;
    }
    throw new Error('nothing was refused');
  };
  const built = (changes: (b: Backend, own: Decoder) => Partial<Record<keyof Decoder, unknown>>) => ({
    build: (...given: Parameters<Architecture['build']>) => {
      const own = llama.build(given[0], given[1] as never, given[2]);
      return { ...own, ...changes(given[0], own) };
    },
  });
  const at = "BAD_ARCHITECTURE: architecture 'odd':";

  test.each<[string, object, string]>([
    [
      'an async build',
      { build: async () => llama.build },
      `${at} build is async: it must return its result at once`,
    ],
    [
      'build without logits',
      built(() => ({ logits: undefined })),
      `${at} build must return an object with the functions embed, layer, logits; logits is not one`,
    ],
    [
      'build that returns nothing',
      { build: () => undefined },
      `${at} build must return an object with the functions embed, layer, logits; embed is not one`,
    ],
    [
      'a layer that throws',
      built(() => ({
        layer: () => {
          throw new TypeError('x is not a function');
        },
      })),
      `${at} layer 0 threw TypeError: x is not a function`,
    ],
    [
      'a layer that returns nothing',
      built(() => ({ layer: () => undefined })),
      `${at} layer 0 must return a tensor of the backend's ops; it returned undefined`,
    ],
    [
      'an async layer',
      built((_b, own) => ({ layer: async (...given: Parameters<Decoder['layer']>) => own.layer(...given) })),
      `${at} layer 0 is async: it must return its result at once`,
    ],
    [
      'a layer of another shape',
      built((b) => ({ layer: (x: Tensor) => b.view(x, [1, 2, 32]) })),
      `${at} layer 0 must return a tensor [2, 32]; it has shape [1, 2, 32]`,
    ],
    [
      'logits of another width',
      built(() => ({ logits: (x: Tensor) => x })),
      `${at} logits must return a tensor [2, 16]; it has shape [2, 32]`,
    ],
    [
      'an op’s own error stays',
      built((b) => ({ layer: (x: Tensor) => b.view(x, [7]) })),
      'BAD_SHAPE: [view] [2, 32] cannot be seen as [7]: the counts differ',
    ],
    [
      'an empty configuration',
      { configFromGguf: () => ({}) },
      `${at} configFromGguf must give layers as a whole number from 1 to 10000; it gives undefined`,
    ],
    [
      'no configuration',
      { configFromGguf: () => undefined },
      `${at} configFromGguf must give a configuration; it gives undefined`,
    ],
    [
      'an async reader',
      { configFromGguf: async () => ({}) },
      `${at} configFromGguf is async: it must return its result at once`,
    ],
    [
      'windows of fewer layers',
      {
        configFromGguf: (...given: Parameters<Architecture['configFromGguf']>) => ({
          ...llama.configFromGguf(...given),
          windows: [0],
        }),
      },
      `${at} configFromGguf must give windows as 2 numbers, one per layer (0: full attention); it gives [0]`,
    ],
    [
      'a reader that throws',
      {
        configFromGguf: () => {
          throw new RangeError('too far');
        },
      },
      `${at} configFromGguf threw RangeError: too far`,
    ],
    ['accepts that returns no boolean', { accepts: () => 1 }, `${at} accepts must return true or false`],
    [
      'a shape with NaN',
      {
        weights: {
          ...llama.weights,
          layer: {
            ...llama.weights.layer,
            q: { ...llama.weights.layer.q, shape: (c: { size: number }) => [c.size, 32] },
          },
        },
      },
      "BAD_ARCHITECTURE: the shape of 'blk.0.attn_q.weight' in the weight table must be a list of whole numbers; it is [undefined, 32]",
    ],
  ])('%s', async (_name, changes, expected) => {
    expect(await message(changes)).toBe(expected);
  });

  test('weights that build reads are not there on two backends', async () => {
    const eager = {
      build: (...[b, w, config]: Parameters<Architecture['build']>) => {
        const { format } = w.layers[1]!.q!;
        expect(format).toBe('f32');
        return llama.build(b, w as never, config);
      },
    };
    expect(await message(eager, 2)).toMatch(
      /^BAD_ARCHITECTURE: architecture 'odd': build threw TypeError: Cannot .* \(on several backends `build` runs once per backend, without the weights of the others: read weights in embed, layer and logits\)$/,
    );
  });
});

test('an encoder’s functions are checked as well', async () => {
  const path = scratch('tiny-bert.gguf');
  await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32' });
  const file = await openEncoderFile(path);
  using backend = await createBackend();
  const hidden = async (build: unknown) => {
    const architecture = { ...file.architecture, build } as typeof file.architecture;
    const { kind } = file;
    using model = await loadEncoder({ ...file, kind, architecture } as typeof file, backend);
    using step = backend.step();
    model.hidden(step, [{ ids: [1, 2] }]);
  };
  await expect(hidden(async () => ({}))).rejects.toEqual(
    refusal('BAD_ARCHITECTURE', "architecture 'bert': build is async: it must return its result at once"),
  );
  await expect(hidden(() => ({ hidden: () => 3 }))).rejects.toEqual(
    refusal(
      'BAD_ARCHITECTURE',
      "architecture 'bert': hidden must return a tensor of the backend's ops; it returned 3",
    ),
  );
});
