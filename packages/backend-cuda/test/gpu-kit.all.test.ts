// A dry run of tools/gpu on the emulated device: a tree without node_modules, a PATH without Node.
import './emulated.js';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDrawn } from '../../../test-scope.js';
import { makeTorch, ncu, ncuForbidden, sanitizer, sanitizerBeside } from './stub-tools.js';

/** Runs with the other GPU: that of NVIDIA has its kit in the other half of the runs. */
const drawn = isDrawn(1) ? test : test.skip;

const root = fileURLToPath(new URL('../../../', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'quern-gpu-kit-'));
const kit = join(scratch, 'kit');
const out = join(scratch, 'out');

const textOf = (command: string, ...args: string[]) => execFileSync(command, args).toString().trim();

/** All that the machine with a GPU must have, besides what unpacks the kit. */
const programs = ['sh', 'mktemp', 'chmod', 'dirname', 'mkdir', 'rm', 'date', 'tar', 'mv'];

/** A folder for PATH with these programs and no others. */
function makeBin(name: string, others: Readonly<Record<string, string>>): string {
  const bin = join(scratch, name);
  mkdirSync(bin);
  const found = programs.map((program) => [program, textOf('sh', '-c', `command -v ${program}`)] as const);
  for (const [program, path] of [...found, ...Object.entries(others)]) symlinkSync(path, join(bin, program));
  return bin;
}

/** A PATH with a tool of stub-tools.ts. */
function pathWith(name: string, script: string): string {
  const own = join(mkdtempSync(join(scratch, 'tool-')), name);
  writeFileSync(own, script, { mode: 0o755 });
  return makeBin(`${basename(dirname(own))}-bin`, { xz: join(bin, 'xz'), [name]: own });
}

const bring = (...args: string[]) =>
  spawnSync(process.execPath, [join(root, 'tools/gpu/bring.mjs'), '--emulated', ...args], {
    encoding: 'utf8',
  });

let bin: string;
let brought: string;
beforeAll(() => {
  if (!isDrawn(1)) return;
  bin = makeBin('bin', { xz: textOf('sh', '-c', 'command -v xz') });
  const { status, stdout, stderr } = bring('--to', kit);
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  brought = stdout;
});
afterAll(() => rmSync(scratch, { recursive: true }));

type Settings = Readonly<Record<string, string>>;

/** A command of run.sh. */
function run(parts: string, settings: Settings = {}) {
  const env = {
    PATH: bin,
    CUDA_HOME: scratch, // has no tools
    OUT: out,
    QUERN_GPU_KIT: kit,
    TMPDIR: tmpdir(),
    QUERN_GPU_PATIENCE: '6',
    ...settings,
  };
  const args = [join(root, 'tools/gpu/run.sh'), '--small', ...parts.split(' ')];
  const { status, stdout, stderr } = spawnSync('sh', args, { env, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

const resultsOf = (part: string) => JSON.parse(readFileSync(join(out, `results-${part}.json`), 'utf8'));

/** The results of a part that ends well. */
function ran(part: string, settings: Settings = {}) {
  const { status, output } = run(part, settings);
  expect([status, output]).toEqual([0, expect.stringContaining('all parts ended well')]);
  return { output, results: resultsOf(part) };
}

const report = (...args: string[]) =>
  spawnSync(process.execPath, [join(root, 'tools/gpu/report.mjs'), ...args], { encoding: 'utf8' });

/** For machines where much else runs. */
const patience = 600_000;

drawn('bring.mjs: both commands, what travels and its size', () => {
  expect(brought).toMatch(
    /travels: [\d.]+ MiB of files that git does not ignore, and .*kit\/, .*; [\d.]+ MiB together/,
  );
  expect(brought).toMatch(/sh tools\/gpu\/run\.sh first .*210 s/);
  expect(brought).toMatch(/sh tools\/gpu\/run\.sh figures .*470 s/);
  expect(readdirSync(kit).sort()).toEqual(['kit.json', 'kit.tar.xz']);
});

drawn(
  'bring.mjs: more than may travel',
  () => {
    const { status, stderr } = bring('--to', join(scratch, 'large'), '--limit', '10', '--gzip');
    expect(status).toBe(1);
    expect(stderr).toMatch(/MiB are more than the 10\.0 MiB that may travel/);
    expect(readdirSync(join(scratch, 'large')).sort()).toEqual(['kit.json', 'kit.tar.gz']);
  },
  patience,
);

const python = spawnSync('python3', ['-c', 'import lzma, sys; print(sys.executable)'], { encoding: 'utf8' });
(python.status === 0 ? drawn : test.skip)(
  'a machine without xz unpacks by python3, one without both says what to do',
  () => {
    const withPython = makeBin('python-bin', { python3: python.stdout.trim() });
    const { output } = run('facts', { PATH: withPython });
    expect(output).toMatch(/nvidia-smi +not there/);
    rmSync(join(withPython, 'python3'));
    const refused = run('facts', { PATH: withPython });
    expect(refused.status).toBe(2);
    expect(refused.output).toMatch(/neither xz nor python3 is there; make the kit with: .*--gzip/);
  },
  patience,
);

drawn(
  'facts: what tools answer, and one that fails',
  () => {
    const answers = `#!/bin/sh
if [ "$1" = -q ]; then echo report; else echo 'NVIDIA H100, 580.95.05'; fi
`;
    const { output } = run('facts', { PATH: pathWith('nvidia-smi', answers) });
    expect(output).toMatch(/nvidia-smi +NVIDIA H100, 580\.95\.05\n/);
    expect(output).toMatch(/- facts: ncu is not there/);
    const fails = "#!/bin/sh\necho 'Failed to initialize NVML'\nexit 9\n";
    expect(run('facts', { PATH: pathWith('nvidia-smi', fails) }).output).toMatch(
      /- facts: nvidia-smi ended with 9; Failed to initialize NVML/,
    );
  },
  patience,
);

/** Parts of `first` for which a dry run with faults has time. */
const few: Settings = {
  QUERN_GPU_SECONDS: '500',
  QUERN_GPU_PATIENCE: '3',
  QUERN_GPU_FAMILIES: 'norms|few rows, q4_k',
  QUERN_GPU_CASES: '^(l2Normalise|tanh): ',
  QUERN_GPU_MODELS: '^whisper',
};

drawn(
  'first, with a trap in one op, a hang in another, missing tools and full disks: all of it is named, the rest is judged',
  () => {
    const faults = {
      QUERN_EMULATED_FAILS: 'softmax',
      QUERN_EMULATED_HANGS: 'tanh_op',
      QUERN_GPU_FOLDERS: '/proc',
    };
    const { status, output } = run('first', { ...few, ...faults });
    expect(status).toBe(1);
    const [, problems] = output.split('== what went wrong');
    expect(problems).toMatch(/smoke: norms: .*softmax: a planted failure.*no switch helps/);
    expect(problems).toMatch(
      /check: ops › tanh: \S.*: (the process was stopped after \d+ s of silence|.*tanh.* did not end)/,
    );
    for (const tool of ['nvidia-smi', 'compute-sanitizer', 'PyTorch'])
      expect(problems).toMatch(new RegExp(`${tool} is not there`));
    expect(problems).toMatch(
      /models: whisper-tiny f16: Error: no folder has room for 0\.10 GB: \/proc has 0\.00 GB free/,
    );

    const { families } = resultsOf('smoke');
    expect(families.map(({ name, passed }: { name: string; passed: boolean }) => [name, passed])).toEqual([
      ['norms', false],
      ['few rows, q4_k', true],
    ]);
    const { machine, checks } = resultsOf('check');
    expect(machine).toMatchObject({ device: 'emulated GPU', emulated: true });
    const { failures, message } = checks.conformance;
    for (const { name } of failures) expect(name).toContain('tanh: ');
    expect(message).toMatch(/^\d\d passed, [12] failed.*left out, since a case of the op hung: \d/);
    expect(checks).toMatchObject({ 'one op': { passed: true }, 'a story': { passed: true } });

    const { stdout } = report('--print', join(out, 'results.tar'));
    for (const line of [
      '- smoke: norms: ',
      '- check: ops › tanh: ',
      'PyTorch is not there',
      '/proc has 0.00 GB free',
    ])
      expect(stdout).toContain(line);
  },
  patience,
);

drawn(
  'smoke: each family passes, and reaches its kernels',
  () => {
    const launches = join(scratch, 'launches');
    const { families, switches } = ran('smoke', {
      QUERN_GPU_PATIENCE: '4',
      QUERN_EMULATED_LAUNCHES: launches,
    }).results;
    expect(families).toHaveLength(16);
    expect(switches).toEqual({});
    const launched = new Set(readFileSync(launches, 'utf8').split('\n'));
    const kernels = [
      ...['linear_few_1_bf16', 'linear_few_2_q4_k', 'linear_rows_16_q4_k', 'linear_strip_3_f32'],
      ...['product_bf16_128x128', 'product_bf16_warpgroups_128x256', 'attention_group_64_f16'],
      ...[
        'attention_tile_1_64_bf16',
        'attention_f32',
        'add_rms_norm',
        'rope',
        'kv_append_f16',
        'sample_parts',
      ],
      ...['top_k_parts', 'first_places', 'advance_chain'],
    ];
    expect(kernels.filter((name) => !launched.has(name))).toEqual([]);
  },
  patience,
);

drawn(
  'a switch with which a family passes holds for the parts that follow',
  () => {
    const { output } = run('smoke facts', {
      QUERN_GPU_FAMILIES: '^wgmma',
      QUERN_EMULATED_FAILS: 'product_bf16_warpgroups_128x256',
    });
    expect(resultsOf('smoke').switches).toEqual({ QUERN_CUDA_PRODUCT: '128x128 1' });
    expect(output).toContain('== facts, with QUERN_CUDA_PRODUCT="128x128 1"');
  },
  patience,
);

drawn(
  'check',
  () => {
    const { output, results } = ran('check');
    expect(output).toMatch(/passed {2}a story: .* the first 3, 3, 3, 3 of 3 greedy tokens/);
    expect(results.checks).toMatchObject({ 'golden logits': {}, conformance: { passed: true } });
  },
  patience,
);

drawn(
  'sanitize: tools side by side, a finding is named',
  () => {
    const PATH = pathWith('compute-sanitizer', sanitizer);
    const settings = { QUERN_GPU_CASES: '^swiglu: ', QUERN_GPU_TOOLS: 'memcheck,racecheck' };
    const { output } = run('sanitize', { PATH, ...settings });
    expect(resultsOf('sanitize').results).toEqual([
      expect.objectContaining({ tool: 'memcheck', passed: true }),
      expect.objectContaining({ tool: 'racecheck', passed: false }),
    ]);
    expect(output).toMatch(/- sanitize: racecheck: 2 findings; \d+ cases passed, 0 failed/);
  },
  patience,
);

/** Not one that has ended and waits for its parent to look. */
const isRunning = (pid: number) => {
  const state = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
  return state !== '' && !state.startsWith('Z');
};

drawn(
  'sanitize: with the tool that is stopped, its program ends',
  async () => {
    const pidFile = join(scratch, 'pid');
    const { output } = run('sanitize', {
      PATH: pathWith('compute-sanitizer', sanitizerBeside(pidFile)),
      QUERN_GPU_CASES: '^swiglu: ',
      QUERN_GPU_TOOLS: 'initcheck',
      QUERN_GPU_SECONDS: '40',
      QUERN_GPU_PATIENCE: '1',
      QUERN_EMULATED_HANGS: 'swiglu',
      QUERN_CUDA_WAIT: '1000',
    });
    expect(output).toMatch(/initcheck: .*1 processes left cases undone/);
    const pid = Number(readFileSync(pidFile, 'utf8'));
    while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 100));
  },
  patience,
);

(python.status === 0 ? drawn : test.skip)(
  'torch: figures of each shape, one that fails is named',
  () => {
    const settings = {
      PATH: makeBin('torch-bin', { xz: join(bin, 'xz'), python3: python.stdout.trim() }),
      PYTHONPATH: makeTorch(join(scratch, 'python')),
    };
    const { status, output } = run('torch', settings);
    expect([status, output]).toEqual([1, expect.stringContaining('what went wrong')]);
    const { torch, missing, problems } = resultsOf('torch');
    rmSync(join(out, 'results-torch.json')); // ceilings would take its figures
    expect(torch).toMatchObject({ version: '0.0-stub', skipped: [], bf16Rate: (2 * 256 ** 3 * 10) / 0.002 });
    expect(torch.works.slice(0, 2)).toEqual([
      { name: 'linear bf16 1×[64×256]', seconds: 0.0001 },
      { name: 'linear bf16 16×[64×256]', seconds: 0.0001 },
    ]);
    expect(missing).toBeUndefined();
    expect(problems).toEqual([
      expect.stringMatching(/^attention bf16 1 × 1 rows, depth 64: AttributeError: /),
    ]);
  },
  patience,
);

drawn(
  'counters: those of each kernel, or why there are none',
  () => {
    ran('counters', { PATH: pathWith('ncu', ncu) });
    expect(resultsOf('counters').counters).toEqual([
      {
        kernel: 'linear_few_1_q4_k',
        memory: '71.25 %',
        time: '12.35 us',
        registers: '1,072 register/thread',
      },
    ]);
    run('counters', { PATH: pathWith('ncu', ncuForbidden) });
    expect(resultsOf('counters').problems).toEqual([
      'ncu: ==ERROR== ERR_NVGPUCTRPERM - The user does not have permission',
    ]);
  },
  patience,
);

drawn(
  'ceilings',
  () => {
    const { copyBandwidth, bf16Rate } = ran('ceilings').results.ceilings;
    expect(copyBandwidth).toEqual({ by: 'quern', value: expect.any(Number) });
    expect(bf16Rate.value).toBeGreaterThan(0);
    expect(bf16Rate.by).toMatch(/^quern/);
  },
  patience,
);

drawn(
  'kernels: what the time does not allow is named',
  () => {
    run('ceilings');
    const { status } = run('kernels', { QUERN_GPU_SECONDS: '30' });
    const { skipped, unfinished } = resultsOf('kernels');
    expect([status, unfinished]).toEqual([1, undefined]);
    expect(skipped.at(-1)).toMatch(/^(all cases|linear gptq int4 …×\[64×256\], exact)$/);
  },
  patience,
);

drawn(
  'kernels: one that fails costs its case',
  () => {
    const { status } = run('kernels', { QUERN_EMULATED_FAILS: 'attention_group_64_f16' });
    const { kernels } = resultsOf('kernels');
    expect(status).toBe(1);
    const of = (name: string) => kernels.find((one: { name: string }) => one.name === name);
    expect(of('attention f16 1 × 1 rows, depth 64').failed).toMatch(/a planted failure/);
    expect(of('linear q4_k 16×[64×256]').seconds).toBeGreaterThan(0);
  },
  patience,
);

drawn(
  'models: speed, and times of each op of a step',
  () => {
    run('models', { QUERN_GPU_MODELS: '^(qwen3-0.6b bf16|whisper-tiny f16)$' });
    const { works, steps, skipped } = resultsOf('models');
    expect(skipped).toEqual([]);
    for (const work of ['decode', 'decode, sampled', 'prefill 8', 'one window, encoder']) {
      const { failed = '', tokensPerSecond } = works.find((one: { work: string }) => one.work === work);
      expect(failed).toMatch(/^$|take no longer than/); // other programs may run
      if (!failed) expect(tokensPerSecond).toBeGreaterThan(0);
    }
    const decode = steps.find(({ step }: { step: string }) => step === 'decode');
    const sum = decode.ops.reduce((total: number, one: { count: number }) => total + one.count, 0);
    expect(decode.ops.map(({ name }: { name: string }) => name)).toContain('gateUpSwiglu ffn_gate.weight');
    expect(sum).toBe(decode.count);
  },
  patience,
);

drawn(
  'choices: a case once per kernel that is forced',
  () => {
    const { cases, failures } = ran('choices', { QUERN_GPU_CHOICES: 'ROWS=[12]$|PRODUCT=64x64 1' }).results;
    expect(failures).toEqual([]);
    const waysOf = (name: string) => {
      const { best, ways } = cases.find((one: { name: string }) => one.name === name);
      const names: string[] = ways.map(({ alternative }: { alternative: string }) => alternative);
      expect(best).toBe(names[0]);
      return names.sort();
    };
    expect(waysOf('linear q4_k 16×[64×256]')).toEqual([
      'QUERN_CUDA_ROWS=1',
      'QUERN_CUDA_ROWS=2',
      'as chosen',
    ]);
    expect(waysOf('linear q4_k 160×[64×256]')).toEqual(['QUERN_CUDA_PRODUCT=64x64 1', 'as chosen']);
  },
  patience,
);

drawn('a part without time is not started', () => {
  expect(run('ceilings', { QUERN_GPU_SECONDS: '1' }).output).toMatch(
    /ceilings: not started, the time was up/,
  );
});

drawn.each(['results-ceilings.json', 'results.tar'])(
  '%s of a dry run has no figures',
  (file) => {
    run('ceilings');
    const { status, stderr } = report(join(out, file));
    expect(status).toBe(1);
    expect(stderr).toMatch(/results of a dry run/);
  },
  patience,
);

drawn('results that cannot be saved do not end a part', () => {
  mkdirSync(join(out, 'results-torch.json.new'), { recursive: true });
  const { status, output } = run('torch');
  rmSync(join(out, 'results-torch.json.new'), { recursive: true });
  expect(status).toBe(1);
  expect(output).toMatch(/torch: the results could not be saved: .*EISDIR/);
});

drawn('a part that is not there, and calls beside parts', () => {
  expect(run('chekc').output).toMatch(/there is no part 'chekc'/);
  expect(run('first figures').output).toMatch(/first and figures are commands of their own/);
});
