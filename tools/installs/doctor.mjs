// What `quern doctor` says of a CPU backend whose binary is missing, damaged or for another C library, and of an old processor.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { oldProcessor } from './old-processor.mjs';
import { attempt, expectText } from './table.mjs';
import { anyVersion, installed, once, run, story } from './work.mjs';

const part = '`quern doctor`';
const cli = 'node_modules/quern/dist/cli.js';
const binaryFolder = 'node_modules/@quern/backend-cpu-linux-x64-gnu';
const binary = join(binaryFolder, 'backend_cpu.node');

/** The backend is named too, so that its binary's package lies at the top of node_modules. */
const application = (name, origin) =>
  installed(`doctor/${name}`, origin, { dependencies: anyVersion('quern', '@quern/backend-cpu') });

/** The text, whatever the exit status is. */
const textOf = (started) =>
  started.then(
    ({ stdout }) => stdout,
    ({ stdout }) => stdout,
  );

/** 'sentence → command' of the first finding under a heading. @throws Error where the sentence is another one */
function finding(text, heading, sentence, folder) {
  const [, what, help] = new RegExp(`^${heading}\\n  (.*)\\n    → (.*)$`, 'm').exec(text) ?? [];
  expectText(what ?? text, sentence);
  return `${what} → ${help}`.replaceAll(`${folder}/`, '');
}

const missing = (folder) => rmSync(join(folder, binaryFolder), { recursive: true });

function damaged(folder) {
  const path = join(folder, binary);
  writeFileSync(path, readFileSync(path).subarray(0, 1_000_000));
}

/** An addon that needs musl's C library, by its name alone. */
async function forMusl(folder) {
  writeFileSync(join(folder, 'empty.c'), 'int quern_none(void) { return 0; }\n');
  const compile = (...args) =>
    run('cc', ['-shared', '-nostdlib', '-fPIC', 'empty.c', ...args], { cwd: folder });
  await compile('-o', 'libmusl.so', '-Wl,-soname,libc.musl-x86_64.so.1');
  await compile('-o', binary, '-Wl,--no-as-needed', '-L.', '-lmusl');
}

/** [project, what becomes of the binary, the sentence] */
const faults = [
  ['no binary (`--omit=optional`)', missing, /has no binary for linux-x64-gnu/],
  ['a damaged binary', damaged, /is damaged: its 1000000 bytes are no native addon/],
  ['a binary for musl', forMusl, /is for Linux with musl, and this system has glibc/],
];

async function checkBinaries({ origin }) {
  for (const [i, [project, change, sentence]] of faults.entries())
    await attempt({ part, project }, async () => {
      const folder = await application(`binary-${i}`, origin);
      await change(folder);
      const text = await textOf(run(process.execPath, [cli, 'doctor'], { cwd: folder }));
      return finding(text, 'faults', sentence, folder);
    });
}

const words = ['run', 'demo', '--raw', '-p', 'Once upon a time', '-n', '8', '--temperature', '0'];

async function checkOldProcessor({ origin }) {
  const prepared = once(async () => ({
    folder: await application('old-processor', origin),
    ...(await oldProcessor()),
  }));
  await attempt({ part, project: 'Intel Nehalem of 2008, emulated' }, async () => {
    const { folder, node, env } = await prepared();
    const { stdout } = await run(node, [cli, 'doctor'], { cwd: folder, env });
    expectText(stdout, /Nehalem.*; none of the features that the kernels use$/m);
    expectText(stdout, /^ {4}cpu: .*Nehalem.*, scalar, \d+ threads?;/m);
    expectText(stdout, /^no faults found$/m);
    return finding(stdout, 'notes', /^this CPU offers no avx2, fma, f16c: .* scalar code/, folder);
  });
  await attempt({ part, project: 'the same: `quern run demo`' }, async () => {
    const { folder, node } = await prepared();
    const old = await run(node, [cli, ...words], { cwd: folder });
    const env = { QUERN_CPU_ISA: 'scalar' };
    const here = await run(process.execPath, [cli, ...words], { cwd: folder, env });
    expectText(old.stdout.replace('Once upon a time', ''), story);
    if (old.stdout !== here.stdout)
      throw new Error(`${old.stdout} is not ${here.stdout} of scalar code here`);
  });
}

export const doctorCases = [
  { name: 'doctor/old-processor', seconds: 11, always: true, act: checkOldProcessor },
  { name: 'doctor/binaries', seconds: 5, act: checkBinaries },
];
