import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const declarations = at('../../../core/dist/index.d.ts');
const oldest = createRequire(import.meta.url).resolve('typescript-5.7/bin/tsc');

const folder = mkdtempSync(join(tmpdir(), 'quern-types-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Output of the oldest supported TypeScript for some files, with the published declarations. */
function compile(include: readonly string[]): Promise<string> {
  if (!existsSync(declarations))
    throw new Error(`${declarations} is missing: build it with nx build @quern/core`);
  const compilerOptions = {
    ...{ target: 'ES2022', module: 'NodeNext', moduleResolution: 'NodeNext', noEmit: true },
    ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false },
    ...{ types: ['node'], typeRoots: [at('../../../../node_modules/@types')] },
    paths: { '@quern/core': [declarations] },
  };
  const config = join(folder, 'tsconfig.json');
  writeFileSync(config, JSON.stringify({ compilerOptions, include }));
  return new Promise((resolve) =>
    execFile(process.execPath, [oldest, '-p', config], (_error, stdout, stderr) => resolve(stdout + stderr)),
  );
}

test('the example compiles with TypeScript 5.7 and the published declarations', async () => {
  expect(await compile([at('../../../../docs/examples/backend/*.ts')])).toBe('');
}, 120_000);

test('the types reject a driver without a function', async () => {
  const path = join(folder, 'wrong.ts');
  writeFileSync(
    path,
    "import type { KernelDriver } from '@quern/core';\nexport const wrong: KernelDriver = { name: 'wrong' };\n",
  );
  expect(await compile([path])).toMatch(/TS2740|TS2739|TS2322/);
}, 120_000);
