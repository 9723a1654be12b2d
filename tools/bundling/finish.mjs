// The end of a package's build, after tsup. Packages carry no source maps, so no script refers to one; the declarations of the ESM
// build are those of the CommonJS build, which ESM may import: one text, and one type for both kinds of importers.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const files = readdirSync('dist', { recursive: true }).map((file) => join('dist', file));

for (const file of files.filter((each) => /\.c?js$/.test(each))) {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/\n?\/\/# sourceMappingURL=\S+\.map\s*$/, '\n'));
}

for (const file of files.filter((each) => each.endsWith('.d.ts'))) {
  const stem = file.slice(0, -'.d.ts'.length);
  if (!existsSync(`${stem}.d.cts`)) continue;
  if (existsSync(`${stem}.cjs`)) writeFileSync(file, `export * from './${basename(stem)}.cjs';\n`);
  else rmSync(file); // a part that the entries share
}
