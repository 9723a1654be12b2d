// llama.cpp, from a built source tree.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('llama-logits.cpp', import.meta.url));
const compilers = [process.env.CXX, 'g++', 'clang++', 'clang++-19'].filter(Boolean);
const answers = (compiler) => spawnSync(compiler, ['--version']).status === 0;

/** Compiles llama-logits for the libllama in `tree`/build/bin; returns the program's path in `folder`. */
export function compilePeer(tree, folder) {
  const [libraries, program] = [join(tree, 'build/bin'), join(folder, 'llama-logits')];
  if (!existsSync(join(libraries, 'libllama.so')))
    throw new Error(`there is no ${libraries}/libllama.so: build llama.cpp in ${tree}/build`);
  const compiler = compilers.find(answers);
  if (!compiler) throw new Error(`none of ${compilers.join(', ')} runs: install g++, or set CXX`);
  const { status, stderr } = spawnSync(
    compiler,
    [
      ...['-std=c++17', '-O1', `-I${tree}/include`, `-I${tree}/ggml/include`, source, '-o', program],
      ...[`-L${libraries}`, `-Wl,-rpath,${libraries}`, '-lllama', '-lggml', '-lggml-base'],
    ],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`${compiler} does not compile ${source} against ${tree}:\n${stderr}`);
  return program;
}

/** llama.cpp's logits [T · V], one array per number of rows per step; a text with the fault if it cannot run the file. */
export function peerLogits(program, path, ids, { kv, flash, threads, rows }) {
  const { status, signal, stdout, stderr } = spawnSync(
    program,
    [path, kv, flash, threads, ...rows].map(String),
    {
      input: ids.join(' '),
      maxBuffer: 2 ** 31 - 1,
    },
  );
  if (status !== 0)
    return `${signal ?? `exit status ${status}`}: ${stderr.toString().trim().split('\n').at(-1)}`;
  const bytes = new Uint8Array(stdout); // a copy: f32 values begin at a multiple of 4
  const size = bytes.length / 4 / rows.length;
  return rows.map((_, i) => new Float32Array(bytes.buffer, 4 * i * size, size));
}
