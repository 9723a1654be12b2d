// Dependencies that are bundled: development dependencies that the sources import. Their licences travel with the bundle.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import type { Options } from 'tsup';

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/** Licences that permit copies of the code with their text beside it. */
const permitted = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0'];

/** `require` of Node's own modules does not exist in ESM: bundled CommonJS takes them from the process. */
export const builtins: Plugin = {
  name: 'builtins',
  setup(build) {
    build.onResolve({ filter: /^[a-z]/ }, ({ path, kind }) =>
      kind === 'require-call' && isBuiltin(path) ? { path, namespace: 'builtin' } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** The folder of a bundled file's package; undefined: the file is our own. */
const packageOf = (file: string): string | undefined =>
  /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0];

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify,
merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to
do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR
ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH
THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/** The text of a package's licence. Some packages name it in package.json alone. @throws Error without either */
function textOf(folder: string, { name, license, author }: Record<string, string>): string {
  const file = readdirSync(folder).find((each) => /^(licen[cs]e|copying)/i.test(each));
  if (file !== undefined) return readFileSync(join(folder, file), 'utf8').trim();
  if (license === 'MIT' && typeof author === 'string')
    return `The package has no file with its licence; its package.json says MIT.\nCopyright (c) ${author}\n\n${mit}`;
  throw new Error(`${name} has no file with its licence: do not bundle it`);
}

/** A heading and the licence. @throws Error if there is none, or one that is not permitted */
function licenceOf(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { name, version, license } = manifest;
  if (!permitted.includes(license))
    throw new Error(
      `${name} ${version} has the licence ${license}; only ${permitted.join(', ')} are bundled`,
    );
  return `${name} ${version} (${license})\n\n${textOf(folder, manifest)}\n`;
}

/** Writes dist/third-party-licenses.txt, if the build bundles anything. `more`: folders of packages whose files are copied. */
export const licences = (more: readonly string[] = []): Plugin => ({
  name: 'licences',
  setup(build) {
    build.initialOptions.metafile = true;
    build.onEnd(({ metafile }) => {
      const inputs = Object.keys(metafile?.inputs ?? {}).map(packageOf);
      const folders = new Set([...inputs, ...more].filter((folder) => folder !== undefined));
      if (folders.size === 0) return;
      const texts = [...folders].map(licenceOf).sort();
      mkdirSync('dist', { recursive: true });
      writeFileSync('dist/third-party-licenses.txt', texts.join(`\n${'-'.repeat(80)}\n\n`));
    });
  },
});
