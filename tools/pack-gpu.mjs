// npm runs this in GPU backends before and after packing (`prepack`, `postpack --restore`): the addon's sources in
// packages/gpu, which is not published, are copied to gpu/. The emulated device and the tests stay behind.
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const from = fileURLToPath(new URL('../packages/gpu/native', import.meta.url));
const to = join(process.cwd(), 'gpu');

rmSync(to, { recursive: true, force: true });
if (!process.argv.includes('--restore'))
  for (const part of ['gpu', 'kernels', 'dialect', 'metal-source.mjs'])
    cpSync(join(from, part), join(to, part), { recursive: true });
