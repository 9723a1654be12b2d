// A JavaScript runtime for musl on a Debian machine: Bun's npm package for Alpine, under the loader of Debian's package musl. Node for
// musl is not on npm. Bun needs Alpine's libstdc++; here it is linked from the objects of g++'s static one, which use no glibc but for
// a few functions.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from '../setup.mjs';

const folder = join(root, 'build/musl');
const loader = '/lib/ld-musl-x86_64.so.1';
const bun = join(folder, 'node_modules/@oven/bun-linux-x64-musl/bin/bun');
const libraries = join(folder, 'lib');

/** What the objects of libstdc++ take from glibc and musl lacks. */
const fromGlibc = `#include <stddef.h>
long getrandom(void*, size_t, unsigned);
char __libc_single_threaded = 0;
unsigned arc4random(void) { unsigned word = 0; getrandom(&word, sizeof word, 0); return word; }
int _dl_find_object(void* pc, void* found) { return -1; }
`;

const output = (command, ...args) => spawnSync(command, args, { encoding: 'utf8' }).stdout?.trim() ?? '';
const linker = () => ['ld.lld-19', 'ld.lld'].find((name) => output(name, '--version') !== '');

/** Symbols of C++ that Bun takes from other libraries, and those of tables that it copies. */
function symbolsOf(program) {
  const lines = output('nm', '-D', program).split('\n');
  const names = lines.flatMap(
    (line) => /^\S* *[UwB] (_Z(?:NK?St?|N?S|T)\S*|__cxa\S*|__once\S*|__dynamic\S*)$/.exec(line)?.[1] ?? [],
  );
  return [...new Set(names.map((name) => name.replace(/@.*/, '')))];
}

function linkStandardLibrary() {
  mkdirSync(libraries, { recursive: true });
  const [source, object] = [join(folder, 'from-glibc.c'), join(folder, 'from-glibc.o')];
  writeFileSync(source, fromGlibc);
  run('gcc', ['-O2', '-fPIC', '-fno-builtin', '-c', source, '-o', object], { quiet: true });
  const archives = ['libstdc++.a', 'libgcc_eh.a', 'libgcc.a'].map((name) =>
    output('gcc', `-print-file-name=${name}`),
  );
  const wanted = symbolsOf(bun).flatMap((name) => ['-u', name]);
  const library = join(libraries, 'libstdc++.so.6');
  const flags = ['-shared', '-soname', 'libstdc++.so.6', '--gc-sections', '--unresolved-symbols=ignore-all'];
  run(linker(), [...flags, ...wanted, object, ...archives, '-o', library], { quiet: true });
}

/** The program and its environment; or, as a text, what is missing. */
export function bunOfMusl() {
  if (!existsSync(loader)) return 'no loader of musl: apt-get install musl';
  if (linker() === undefined) return 'no linker: apt-get install lld-19';
  if (!existsSync(bun))
    run(
      'npm',
      [
        'install',
        '--prefix',
        folder,
        '--no-save',
        '--force',
        '--ignore-scripts',
        '@oven/bun-linux-x64-musl@1.4.5',
      ],
      {
        quiet: true,
      },
    );
  if (!existsSync(join(libraries, 'libstdc++.so.6'))) linkStandardLibrary();
  return { program: bun, env: { LD_LIBRARY_PATH: libraries } };
}
