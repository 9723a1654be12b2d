// Cost of rounding in the kernels: perplexity of a trained model, compared with the same weights decoded to f32.
// tools/measure/perplexity.mjs prints the numbers on more text.
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { formatNames, isWritable } from '@quern/quant';
import { type LoadOptions, loadModel } from '../../src/index.js';
import { cpuLevels, hasCpu } from '../backends.js';
import type { DemoFiles, writeDemoFiles } from './accuracy/demo-files.mjs';
import { heldOutStories, perplexity } from './accuracy/perplexity.mjs';

/** Largest relative difference of perplexity. */
const bound = 0.002;

// About 2000 tokens. On two of these stories, chance alone changes q2_k by 0.2 %; on all 24, by 0.05 %. The scalar
// kernels multiply decoded weights in f32; they are slow and exact, so they get less text.
const stories = heldOutStories.slice(0, 6);
const oneStory = stories.slice(0, 1);
const storiesFor = (isa: string) => (isa === 'scalar' ? oneStory : stories);

/** Formats also tested token by token, which is slow; tools/measure/perplexity.mjs tests all. */
const stepped = new Set<string>(['q4_0', 'q8_0']);
const byToken: [string, LoadOptions] = ['token by token', { prefillChunk: 1 }];

const best = cpuLevels.at(-1)!;
const timeout = 120_000;

const run = promisify(execFile);
const made: DemoFiles[] = [];
afterAll(() => made.forEach(({ folder }) => rmSync(folder, { recursive: true, force: true })));

/** Quantised by a child process from built packages: under Jest the K encoders take 20 times as long. */
async function demoFiles(...args: Parameters<typeof writeDemoFiles>): Promise<DemoFiles> {
  const module = new URL('./accuracy/demo-files.mjs', import.meta.url).href;
  const script = `const { writeDemoFiles } = await import('${module}');
    console.log(JSON.stringify(await writeDemoFiles(...${JSON.stringify(args)})));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { timeout });
  const files: DemoFiles = JSON.parse(stdout);
  made.push(files);
  return files;
}

async function measure(path: string, isa: string, texts: readonly string[], options: LoadOptions = {}) {
  const { createBackend } = await import('@quern/backend-cpu');
  using backend = await createBackend({ isa });
  using model = await loadModel(path, { ...options, backend });
  return await perplexity(model, texts);
}

const distance = (found: number, wanted: number) => Math.abs(found / wanted - 1);
const describeCpu = hasCpu ? describe : describe.skip;

/** Formats with kernels and with an encoder. */
const formats = formatNames.filter((format) => isWritable(format) && format !== 'f64');

describeCpu.each(formats)('%s beside F32', (format) => {
  let files: DemoFiles;
  const asF32 = new Map<readonly string[], number>();
  beforeAll(async () => {
    files = await demoFiles(format);
    for (const texts of [oneStory, stories]) asF32.set(texts, await measure(files.decoded, best, texts));
  }, timeout);

  describe.each(cpuLevels)('%s', (isa) => {
    const texts = storiesFor(isa);

    test.each<[string, LoadOptions]>([['in one step', {}], ...(stepped.has(format) ? [byToken] : [])])(
      '%s',
      async (_, options) => {
        expect(distance(await measure(files.encoded, isa, texts, options), asF32.get(texts)!)).toBeLessThan(
          bound,
        );
      },
      timeout,
    );
  });
});

describeCpu('the model widened for the K formats', () => {
  test(
    'perplexity is unchanged',
    async () => {
      const [wide, narrow] = [await demoFiles('f32', true), await demoFiles('f32', false)];
      const before = await measure(narrow.encoded, best, stories);
      expect(distance(await measure(wide.encoded, best, stories), before)).toBeLessThan(1e-5);
    },
    timeout,
  );
});

describeCpu('the perplexity', () => {
  test(
    'perplexity is that of a trained model',
    async () => {
      const found = await measure((await demoFiles('q8_0')).encoded, best, stories);
      expect(found).toBeGreaterThan(1);
      expect(found).toBeLessThan(1.3);
    },
    timeout,
  );
});
