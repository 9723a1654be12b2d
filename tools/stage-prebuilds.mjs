// Copies each built addon into its platform package: from artifacts/<package>/<target>/ (continuous integration), or
// from the package's build folder (this machine's target directly, cross-built targets in subfolders).
import { copyFileSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const libc = () => (process.report.getReport().header.glibcVersionRuntime ? '-gnu' : '-musl');
const here = `${process.platform}-${process.arch}${process.platform === 'linux' ? libc() : ''}`;

for (const name of ['backend-cpu', 'quant']) {
  const folder = join(root, 'packages', name);
  const file = `${name.replaceAll('-', '_')}.node`;
  for (const target of readdirSync(join(folder, 'npm'))) {
    const sources = [
      join(root, 'artifacts', name, target, file),
      join(folder, 'build', target, 'Release', file),
    ];
    if (target === here) sources.push(join(folder, 'build/Release', file));
    const source = sources.find(existsSync);
    if (source) copyFileSync(source, join(folder, 'npm', target, file));
    console.log(`${name}-${target}: ${source ?? 'no binary'}`);
  }
}
