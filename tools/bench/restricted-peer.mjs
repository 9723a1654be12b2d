// A copy of node-llama-cpp with only its AVX2 kernels: llama.cpp takes the best library in its folder, without an
// option to choose.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/** AVX2, FMA and F16C, without AVX-512 and without AVX-VNNI. */
const avx2Library = 'libggml-cpu-haswell.so';

const binaries = `@node-llama-cpp/${process.platform}-${process.arch}`;

const isLeftOut = (path) => /^libggml-cpu-/.test(basename(path)) && basename(path) !== avx2Library;

/** Copies these two packages and links all others: Node resolves modules from a file's real path. */
export function restrictToAvx2(modules) {
  if (binaries !== '@node-llama-cpp/linux-x64')
    throw new Error(`node-llama-cpp can be restricted to AVX2 on Linux x64 only; this is ${binaries}`);
  const folder = mkdtempSync(join(tmpdir(), 'quern-bench-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.on('exit', remove);
  const copy = join(folder, 'node_modules');
  mkdirSync(join(copy, '@node-llama-cpp'), { recursive: true });
  for (const name of readdirSync(modules))
    if (!['node-llama-cpp', '@node-llama-cpp', '.bin', '.package-lock.json'].includes(name))
      symlinkSync(join(modules, name), join(copy, name));
  cpSync(join(modules, 'node-llama-cpp'), join(copy, 'node-llama-cpp'), { recursive: true });
  cpSync(join(modules, binaries), join(copy, binaries), {
    recursive: true,
    filter: (path) => !isLeftOut(path),
  });
  return copy;
}
